// An editor for a text and its name; who leaves with changes that are not saved is asked first.
export default {
  template: `
    <form class="editor" @submit.prevent="save">
      <div class="row">
        <label class="field grow"><span>Name</span><input class="entry mono" v-model="called" :readonly="readonly" spellcheck="false"></label>
        <span v-if="isChanged" class="chip warn">not saved</span>
        <button type="button" class="button" @click="send('try')">Preview</button>
        <button v-if="!readonly" type="submit" class="button main" title="Ctrl+S">Save in the vault</button>
      </div>
      <label class="hidden-visually" for="editor">Text of the template</label>
      <textarea id="editor" ref="box" class="entry" v-model="written" :readonly="readonly" spellcheck="false"
                @keydown.ctrl.s.prevent="save" @keydown.meta.s.prevent="save"></textarea>
      <div v-if="problem" class="problem" role="alert">{{ problem }}</div>
    </form>`,
  props: { name: String, text: String, readonly: Boolean, longest: Number },
  data() { return { called: this.name, written: this.text, kept: this.text, problem: "" }; },
  computed: { isChanged() { return this.written !== this.kept; } },
  mounted() { addEventListener("beforeunload", this.leave); },
  unmounted() { removeEventListener("beforeunload", this.leave); },
  methods: {
    save() { if (!this.readonly) this.send("save"); },
    send(what) {
      this.problem = "";
      if (this.written.length > this.longest) {
        this.problem = `This has ${this.written.length.toLocaleString("en")} characters, which is too long for a template; shorten it.`;
        return;
      }
      this.$emit(what, { name: this.called, text: this.written });
    },
    saved() { this.kept = this.written; },
    insert(text) {
      const box = this.$refs.box;
      if (this.readonly) return;
      box.focus();
      box.setRangeText(text, box.selectionStart, box.selectionEnd, "end");
      this.written = box.value;
    },
    leave(event) { if (this.isChanged) event.preventDefault(); },
  },
};
