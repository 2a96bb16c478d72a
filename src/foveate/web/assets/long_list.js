// A list of any length: only the lines that can be seen exist, and they are asked for as they come into sight.
const HEIGHT = 46;
const TOGETHER = 60;

export default {
  template: `
    <div class="longlist" ref="view" @scroll.passive="look" role="listbox" :aria-label="label" tabindex="-1">
      <div :style="{height: total * ${HEIGHT} + 'px', position: 'relative'}">
        <button v-for="line in shown" :key="line.place" type="button" class="line" role="option"
             :class="{chosen: line.id !== undefined && line.id === chosen}" :aria-selected="line.id === chosen"
             :style="{top: line.place * ${HEIGHT} + 'px'}" :data-place="line.place"
             @click="pick(line)" @keydown="move($event, line.place)">
          <span class="id mono">{{ line.id ?? "…" }}</span>
          <span class="role" :class="line.role">{{ line.who }}</span>
          <span class="words">{{ line.words }}</span>
          <span class="fate"><span v-if="line.fate" class="chip dot" :style="{'--fate': line.colour}">{{ line.fate }}</span></span>
          <span class="pin" :title="line.pinned ? 'pinned' : ''">{{ line.pinned ? "◆" : "" }}</span>
        </button>
      </div>
    </div>`,
  props: { total: Number, version: Number, chosen: String, label: String, start: Number },
  data: () => ({ first: 0, last: 30, known: {}, asked: {} }),
  computed: {
    shown() {
      const lines = [];
      for (let place = this.first; place < Math.min(this.last, this.total); place += 1) {
        lines.push({ place, ...(this.known[place] ?? {}) });
      }
      return lines;
    },
  },
  watch: {
    version() {
      this.known = {};
      this.asked = {};
      this.$refs.view.scrollTop = (this.start ?? 0) * HEIGHT;
      this.$nextTick(this.look);
    },
  },
  mounted() {
    this.watcher = new ResizeObserver(() => this.look());
    this.watcher.observe(this.$refs.view);
    this.$refs.view.scrollTop = (this.start ?? 0) * HEIGHT;
    this.$nextTick(this.look);
  },
  unmounted() { this.watcher?.disconnect(); },
  methods: {
    look() {
      const view = this.$refs.view;
      if (!view) return;
      this.first = Math.max(0, Math.floor(view.scrollTop / HEIGHT) - 8);
      this.last = Math.ceil((view.scrollTop + view.clientHeight) / HEIGHT) + 8;
      clearTimeout(this.timer);
      // While somebody scrolls through thousands of lines, nobody reads those in between.
      this.timer = setTimeout(this.ask, 40);
    },
    ask() {
      const end = Math.min(this.last, this.total);
      for (let part = Math.floor(this.first / TOGETHER); part * TOGETHER < end; part += 1) {
        if (this.asked[part]) continue;
        this.asked[part] = true;
        this.$emit("need", { first: part * TOGETHER, count: TOGETHER, version: this.version });
      }
    },
    fill(first, lines, version) {
      if (version !== this.version) return;
      lines.forEach((line, index) => { this.known[first + index] = line; });
    },
    change(id, values) {
      for (const line of Object.values(this.known)) if (line.id === id) Object.assign(line, values);
    },
    pick(line) { if (line.id !== undefined) this.$emit("pick", line.id); },
    move(event, place) {
      const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
      if (!step) return;
      event.preventDefault();
      const next = Math.max(0, Math.min(this.total - 1, place + step));
      const view = this.$refs.view;
      const top = next * HEIGHT;
      if (top < view.scrollTop) view.scrollTop = top;
      if (top + HEIGHT > view.scrollTop + view.clientHeight) view.scrollTop = top + HEIGHT - view.clientHeight;
      this.look();
      this.$nextTick(() => view.querySelector(`[data-place="${next}"]`)?.focus());
    },
  },
};
