// A conversation: everything in it is shown as text, tool traffic is folded, and who reads its end stays there.
const NEAR = 120;
const page = () => document.scrollingElement;

export default {
  template: `
    <div class="talk" role="log" :aria-label="label">
      <div v-if="more" class="earlier"><button type="button" class="button quiet" @click="earlier">Show earlier turns</button></div>
      <template v-for="entry in shown" :key="entry.key">
        <div v-if="entry.who === 'diagnostic'" class="notice warn told" role="alert">
          <div><b>{{ entry.title }}</b> <span v-if="entry.pointer" class="mono">{{ entry.pointer }}</span></div>
          <div>{{ entry.text }}</div>
          <button type="button" class="dismiss" aria-label="Dismiss" title="Dismiss" @click="gone[entry.key] = true">×</button>
        </div>
        <div v-else-if="entry.who === 'failure'" class="notice bad told" role="alert">
          <div><b>{{ entry.title }}</b></div>
          <div v-if="entry.text">{{ entry.text }}</div>
          <button v-if="entry.again" type="button" class="button" @click="$emit('again')">{{ entry.again }}</button>
        </div>
        <article v-else class="turn" :class="entry.who" :id="'said-' + entry.key">
          <details v-for="(step, index) in entry.steps" :key="index" class="step">
            <summary>
              <span class="mono">→ {{ step.line }}</span>
              <span v-if="step.failed" class="chip bad">failed</span>
              <span v-else-if="step.result === null" class="chip">running</span>
            </summary>
            <pre v-if="step.call" class="text">{{ step.call }}</pre>
            <pre v-if="step.result !== null" class="text">{{ step.result || "(no output)" }}</pre>
            <a v-if="entry.link && !entry.parts.length" :href="entry.link">what the model saw</a>
          </details>
          <div v-if="entry.parts.length" class="said">
            <template v-for="(part, index) in entry.parts" :key="index">
              <figure v-if="part.code" class="code"><figcaption v-if="part.name">{{ part.name }}</figcaption><pre>{{ part.text }}</pre></figure>
              <p v-else>{{ part.text }}</p>
            </template>
          </div>
          <footer v-if="entry.parts.length && (entry.when || entry.link)">
            <span>{{ entry.when }}</span>
            <a v-if="entry.link" :href="entry.link" :title="'call ' + entry.call">what the model saw</a>
            <a v-if="entry.whole" :href="entry.whole">read it whole</a>
          </footer>
        </article>
      </template>
      <div v-if="waiting" class="typing" role="status">{{ waiting }}</div>
    </div>`,
  props: { entries: Array, more: Boolean, label: String, waiting: String },
  data: () => ({ gone: {}, isNear: true, below: 0, isEarlier: false }),
  computed: {
    shown() { return this.entries.filter((entry) => !this.gone[entry.key]); },
  },
  watch: {
    // Who says something wants to see what comes of it, wherever they were reading.
    waiting(now, before) { if (now && !before) this.toEnd(); },
  },
  mounted() { this.toEnd(); },
  beforeUpdate() {
    this.below = page().scrollHeight - page().scrollTop;
    this.isNear = this.below - page().clientHeight < NEAR;
  },
  updated() {
    if (this.isEarlier) {
      // What is read stays where it is; the older turns come above it.
      this.isEarlier = false;
      page().scrollTop = page().scrollHeight - this.below;
    } else if (this.isNear) {
      this.toEnd();
    }
  },
  methods: {
    toEnd() { this.$nextTick(() => { page().scrollTop = page().scrollHeight; }); },
    earlier() { this.isEarlier = true; this.$emit("earlier"); },
  },
};
