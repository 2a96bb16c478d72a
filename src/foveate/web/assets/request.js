// A request as it was sent: one block for each message, long ones shortened, originals on demand.
const CLIPPED = 14;

export default {
  template: `
    <div class="request">
      <template v-for="block in blocks" :key="block.key">
        <div v-if="block.cut" class="cachecut">{{ block.cut }}</div>
        <article class="piece" :style="{'--fate': block.colour}" :id="'block-' + block.key" :data-fate="block.fate">
          <div class="edge"></div>
          <div class="inside">
            <header>
              <span class="who">{{ block.who }}</span>
              <span class="chip dot">{{ block.fate }}</span>
              <span v-if="block.by">by {{ block.by }}</span>
              <a v-if="block.call" :href="block.callLink">at call {{ block.call }}</a>
              <span>{{ block.tokens }}</span>
              <a v-if="block.source" :href="block.sourceLink">{{ block.source }}</a>
              <span v-if="block.pinned" class="chip on">pinned</span>
            </header>
            <div v-if="block.why" class="why">{{ block.why }}</div>
            <pre v-if="block.text && !(block.folded && !whole[block.key])" class="text" :class="{clipped: isClipped(block)}">{{ block.text }}</pre>
            <div v-for="(call, index) in block.calls" :key="index" class="called">
              <b class="mono">{{ call.name }}</b><pre class="text">{{ call.arguments }}</pre>
            </div>
            <div v-if="originals[block.key] !== undefined && open[block.key]" class="original">
              <div class="soft small">as it was said</div>
              <pre class="text">{{ originals[block.key] }}</pre>
            </div>
            <button v-if="isLong(block)" type="button" class="more" @click="whole[block.key] = !whole[block.key]">
              {{ whole[block.key] ? "Show less" : (block.folded ? "Show " : "Show all ") + lines(block).toLocaleString("en") + " lines" }}
            </button>
            <button v-if="block.hasOriginal" type="button" class="more" :aria-expanded="!!open[block.key]" @click="toggle(block)">
              {{ open[block.key] ? "Hide the original" : "Show the original" }}
            </button>
          </div>
        </article>
      </template>
    </div>`,
  props: { blocks: Array },
  data: () => ({ whole: {}, open: {}, originals: {} }),
  methods: {
    lines: (block) => block.text.split("\n").length,
    isLong(block) { return block.folded || this.lines(block) > CLIPPED || block.text.length > 1800; },
    isClipped(block) { return this.isLong(block) && !this.whole[block.key]; },
    toggle(block) {
      this.open[block.key] = !this.open[block.key];
      if (this.open[block.key] && this.originals[block.key] === undefined) this.$emit("original", block.key);
    },
    give(key, text) { this.originals[key] = text; },
  },
};
