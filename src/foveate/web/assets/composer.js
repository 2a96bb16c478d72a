// A box to write into: Enter sends; what is written outlives a reload, and comes back if it could not be said.
const MOST = 320;
// Without storage a draft lasts for this page.
const kept = (key) => { try { return sessionStorage.getItem(key); } catch { return null; } };
const keep = (key, text) => {
  try { if (text) sessionStorage.setItem(key, text); else sessionStorage.removeItem(key); } catch { /* As above. */ }
};

export default {
  template: `
    <form class="composer" @submit.prevent="send">
      <label class="hidden-visually" :for="'say-' + chat">Message</label>
      <textarea ref="box" :id="'say-' + chat" class="entry" rows="1" v-model="text" :placeholder="hint"
                title="Shift+Enter begins a new line" @input="changed" @keydown.enter.exact="enter"></textarea>
      <button type="submit" class="button main" :disabled="busy || !text.trim()">Send</button>
      <div v-if="problem" class="problem" role="alert">{{ problem }}</div>
    </form>`,
  props: { chat: String, busy: Boolean, longest: Number, messages: Number },
  data: () => ({ text: "", problem: "", held: "null" }),
  computed: {
    hint() { return this.busy ? "being answered…" : "Write a message; Enter sends it"; },
    draft() { return `foveate-draft-${this.chat}`; },
    sent() { return `foveate-sent-${this.chat}`; },
  },
  watch: {
    busy(is) {
      if (!is) this.check();
      // Somebody who pressed a button that is gone goes on writing.
      if (!is && (document.activeElement === document.body || document.activeElement === null)) this.$refs.box.focus();
    },
  },
  mounted() {
    this.text = kept(this.draft) ?? "";
    if (!this.busy) this.check();
    this.grow();
    // On a phone it would bring up the keyboard over what is to be read.
    if (matchMedia("(hover: hover)").matches) this.$refs.box.focus({ preventScroll: true });
  },
  methods: {
    enter(event) {
      // Enter also ends the writing of a Chinese or Japanese word.
      if (event.isComposing) return;
      event.preventDefault();
      this.send();
    },
    send() {
      const text = this.text;
      this.$refs.box.focus();
      if (this.busy || !text.trim()) return;
      if (text.length > this.longest) {
        const size = [text.length, this.longest].map((count) => count.toLocaleString("en"));
        this.problem = `This has ${size[0]} characters, and ${size[1]} can be sent at once; shorten it, or put it into a file of the vault.`;
        return;
      }
      this.text = "";
      this.changed();
      this.held = JSON.stringify({ text, messages: this.messages });
      keep(this.sent, this.held);
      this.$emit("say", text);
    },
    check() {
      // The log has more messages if what was sent last came into it; a server that was ended may have lost it.
      const sent = JSON.parse(kept(this.sent) ?? this.held);
      this.forget();
      if (sent && this.messages <= sent.messages) this.restore(sent.text);
    },
    forget() {
      this.held = "null";
      keep(this.sent, "");
    },
    restore(text) {
      this.forget();
      this.text = this.text.trim() ? `${text}\n${this.text}` : text;
      this.changed();
      this.$refs.box.focus();
    },
    changed() {
      this.problem = "";
      keep(this.draft, this.text);
      this.$nextTick(this.grow);
    },
    grow() {
      const box = this.$refs.box;
      if (!box) return;
      box.style.height = "auto";
      box.style.height = `${Math.min(box.scrollHeight + 2, MOST)}px`;
    },
  },
};
