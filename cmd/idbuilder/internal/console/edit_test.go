// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kazahana-db/kazahana/idbuilder/store"
	"github.com/kazahana-db/kazahana/idbuilder/store/storetest"
)

func TestCreateAndEdit(t *testing.T) {
	s := start(t, Options{})
	v := s.login()
	v.get("new").wantPage(http.StatusOK, "new?type=increment", "new?type=snowflake", "new?type=formatted")
	v.get("new?type=increment").wantPage(http.StatusOK, "New increment key")
	v.get("new?type=nothing").wantPage(http.StatusNotFound)
	v.post("save", "type", "increment", "key", "a/b", "name", "A of B", "base", "1000", "delta", "2", "max", "1009").wantTo("./key?done=created&key=a%2Fb")
	v.get("key?done=created&key=a%2Fb").wantPage(http.StatusOK, "The key was created.", "A of B", "<code>1002</code>", "<code>1008</code>", "The sequence ends at 1009.").wantNo("1010")
	v.post("save", "type", "increment", "key", "down", "base", "0", "delta", "-5").wantTo("./key?done=created&key=down")
	v.get("key?key=down").wantPage(http.StatusOK, "<code>-25</code>")
	v.post("save", "type", "snowflake", "key", "events", "base_ts", "2026-01-01", "ts_size", "41", "worker_id_size", "10", "seq_size", "12", "skip_size", "1").wantTo("./key?done=created&key=events")
	v.get("key?key=events").wantPage(http.StatusOK, "1,024 clients", "7 September 2095", `aria-label="64 bits`)
	v.post("save", formatted("inv")...).wantTo("./key?done=created&key=inv")
	v.get("key?key=inv").wantPage(http.StatusOK, "0001</code>", "Every ID is unique")

	edit := v.get("edit?key=a%2Fb").wantPage(http.StatusOK, `value="1000"`, `value="1009"`, `value="A of B"`)
	if strings.Contains(edit.text, `id="f-key"`) {
		t.Error("the key can be edited")
	}
	v.post("save", "type", "increment", "key", "a/b", "version", "1", "base", "2000", "delta", "2", "max", "2999", "max_request_delta", "100", "key_token_enable", "yes").wantTo("./key?done=saved&key=a%2Fb")
	c, _, err := s.Config(t.Context(), "a/b")
	if err != nil || c.Increment.Base != 2000 || c.Increment.Max != 2999 || !c.KeyTokenOnly || c.Name != "" {
		t.Errorf("saved is %+v %+v, %v", c, c.Increment, err)
	}
	v.get("edit?key=a%2Fb").wantPage(http.StatusOK, `name="key_token_enable" value="yes" checked`)
}

// TestFaultsKeepWhatWasTyped also checks that each fault is tied to its field, for screen
// readers.
func TestFaultsKeepWhatWasTyped(t *testing.T) {
	s := start(t, Options{})
	v := s.login()
	for _, c := range []struct {
		fields []string
		faults map[string]string // by input: what the message says
	}{
		{[]string{"type", "increment", "key", "a#b", "base", "12x", "delta", "0", "name", "kept"}, map[string]string{"base": "It is &#34;12x&#34;; wanted is a whole number"}},
		{[]string{"type", "increment", "key", "a#b", "base", "12", "name", "kept"}, map[string]string{"key": "the character &#39;#&#39;"}},
		{[]string{"type", "increment", "key", "", "base", "", "delta", "0"}, map[string]string{"key": "It is empty; allowed are 1 to 255 bytes", "delta": "It is 0; allowed are"}},
		{[]string{"type", "increment", "key", "k", "base", "9223372036854775808"}, map[string]string{"base": "wanted is a whole number from -9223372036854775808 to 9223372036854775807"}},
		{[]string{"type", "increment", "key", "k", "base", "5", "min", "10", "max", "1"}, map[string]string{"min": "greater than max, 1"}},
		{[]string{"type", "snowflake", "key", "k", "base_ts", "yesterday", "ts_size", "41", "worker_id_size", "10", "seq_size", "12"}, map[string]string{"base_ts": "wanted is a date such as 2026-01-01"}},
		{[]string{"type", "snowflake", "key", "k", "base_ts", "2026-01-01", "ts_size", "41", "worker_id_size", "10", "seq_size", "13", "skip_size", "1"}, map[string]string{"ts_size": "sum to 65; they must sum to 64"}},
		{append(formatted("k"), "parts[1].format", "yyQQ"), map[string]string{"parts[1].format": "Q"}},
		{append(formatted("k"), "parts[2].number_base", "99"), map[string]string{"parts[2].number_base": "2 to 36"}},
	} {
		values := map[string]string{}
		for i := 0; i < len(c.fields); i += 2 {
			values[c.fields[i]] = c.fields[i+1]
		}
		p := v.post("save", c.fields...).wantPage(http.StatusBadRequest, `role="alert"`)
		for name, value := range values {
			if name == "action" || name == "type" || strings.HasSuffix(name, ".type") || strings.HasSuffix(name, "reset_scope") {
				continue
			}
			if tag := p.inputTag(name); !strings.Contains(tag, fmt.Sprintf(`value="%s"`, value)) {
				t.Errorf("%s was %q, the form has %s", name, value, tag)
			}
		}
		for name, says := range c.faults {
			id := field{Name: name}.ID()
			if tag := p.inputTag(name); !strings.Contains(tag, `aria-invalid="true"`) || !strings.Contains(tag, id+"-fault") {
				t.Errorf("%v: the fault of %s is not at its input: %s", c.fields, name, tag)
			}
			_, message, _ := strings.Cut(p.text, `id="`+id+`-fault">`)
			if message, _, _ = strings.Cut(message, "</p>"); !strings.Contains(message, says) {
				t.Errorf("%v: the fault of %s is %q, want %q", c.fields, name, message, says)
			}
			if !strings.Contains(p.text, `<a href="#`+id+`">`) {
				t.Errorf("%v: the summary does not lead to %s", c.fields, name)
			}
		}
	}
	if list := v.get("keys"); !strings.Contains(list.text, "There is no key yet") {
		t.Error("something was stored")
	}
}

func TestExistingKeyIsNotCreated(t *testing.T) {
	s := start(t, Options{})
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	v := s.login()
	p := v.post("save", "type", "increment", "key", "orders", "base", "5000").wantPage(http.StatusBadRequest, "There is such a key already")
	if tag := p.inputTag("key"); !strings.Contains(tag, "aria-invalid") {
		t.Errorf("the input is %s", tag)
	}
	if c, _, err := s.Config(t.Context(), "orders"); err != nil || c.Increment.Base != 1000 {
		t.Errorf("it was changed: %+v, %v", c.Increment, err)
	}
}

// TestRefusedChange: the page offers to force a change after which IDs could repeat, and describes
// the risk.
func TestRefusedChange(t *testing.T) {
	s := start(t, Options{})
	v := s.login()
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	v.post("generate", "key", "orders", "size", "5").wantPage(http.StatusOK, "<code>1005</code>")
	back := []string{"type", "increment", "key", "orders", "version", "1", "base", "7", "delta", "1"}
	v.post("preview", back...).wantPage(http.StatusOK, "Saving this will be refused.", "have been reserved", "<code>8</code>")
	p := v.post("save", back...).wantPage(http.StatusConflict, "IDs could come twice", "numbers up to", `id="f-force"`, "cannot be undone")
	if tag := p.inputTag("base"); !strings.Contains(tag, `value="7"`) {
		t.Errorf("what was typed is lost: %s", tag)
	}
	v.get("edit?key=orders").wantNo("f-force")
	v.post("save", append(back, "force", "yes")...).wantTo("./key?done=saved&key=orders")
	v.post("generate", "key", "orders", "size", "1").wantPage(http.StatusOK, "<code>8</code>")

	s.saveConfig("formatted", `{"key": "f", "parts": [{"type": "auto-increment", "length": 4}]}`)
	v.post("save", "type", "formatted", "key", "f", "version", "1", "parts[0].type", "fixed-random-chars", "parts[0].length", "4", "parts[0].chars_scope", "0123456789").wantPage(http.StatusConflict, "IDs could come twice")
	s.saveConfig("snowflake", `{"key": "s", "base_ts": 0, "ts_size": 41, "worker_id_size": 10, "seq_size": 12}`)
	r := httptest.NewRequest(http.MethodGet, "/v1/id/snowflake?key=s", nil)
	r.Header.Set("Authorization", adminToken)
	v.sendRequest(r).wantPage(http.StatusOK, "lease_key")
	v.post("save", "type", "snowflake", "key", "s", "version", "1", "base_ts", "2026-01-01", "ts_size", "41", "worker_id_size", "10", "seq_size", "12").wantPage(http.StatusConflict, "IDs could come twice")
}

// TestConcurrentEdit: the page says that another admin has changed the key.
func TestConcurrentEdit(t *testing.T) {
	s := start(t, Options{})
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	v := s.login()
	s.saveConfig("increment", `{"key": "orders", "base": 1000, "name": "theirs"}`)
	p := v.post("save", "type", "increment", "key", "orders", "version", "1", "base", "1000", "name", "mine").wantPage(http.StatusBadRequest, "changed by someone else")
	if c, _, _ := s.Config(t.Context(), "orders"); c.Name != "theirs" {
		t.Errorf("the name is %q", c.Name)
	}
	if tag := p.inputTag("version"); !strings.Contains(tag, `value="2"`) {
		t.Errorf("the form cannot be sent again: %s", tag)
	}
	v.post("save", "type", "increment", "key", "orders", "version", "2", "base", "1000", "name", "mine").wantTo("./key?done=saved&key=orders")
}

// TestSavesAtOnce: of two admins who save the same form at the same moment, the second one is told.
func TestSavesAtOnce(t *testing.T) {
	var theirs atomic.Pointer[func()] // the worker polls the store as well
	s := startOn(t, storetest.Faulty(storetest.Memory(t), func(c storetest.Call) storetest.Fault {
		if c.Method == "Put" && c.Kind == store.Configs {
			if save := theirs.Swap(nil); save != nil {
				(*save)()
			}
		}
		return storetest.Fault{}
	}), Options{})
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	v := s.login()
	save := func() { s.saveConfig("increment", `{"key": "orders", "base": 1000, "name": "theirs"}`) }
	theirs.Store(&save)
	v.post("save", "type", "increment", "key", "orders", "version", "1", "base", "1000", "name", "mine").wantPage(http.StatusBadRequest, "changed by someone else")
	if c, _, _ := s.Config(t.Context(), "orders"); c.Name != "theirs" {
		t.Errorf("the name is %q", c.Name)
	}
	v.post("save", "type", "increment", "key", "orders", "version", "x", "base", "1000", "name", "mine").wantPage(http.StatusBadRequest, "changed by someone else")
}

func TestPartsOfAForm(t *testing.T) {
	s := start(t, Options{})
	v := s.login()
	order := func(p shownPage) (types string) {
		p.Helper()
		for _, tag := range tagOf.FindAllString(p.wantPage(http.StatusOK).text, -1) {
			if _, rest, ok := strings.Cut(tag, `.type" value="`); ok {
				kind, _, _ := strings.Cut(rest, `"`)
				types += kind + " "
			}
		}
		return types
	}
	for action, want := range map[string]string{
		"up 2": "fixed-chars auto-increment date-format ", "down 0": "date-format fixed-chars auto-increment ", "remove 1": "fixed-chars auto-increment ",
		"add": "fixed-chars date-format auto-increment timestamp ", "up 1": "date-format fixed-chars auto-increment ",
	} {
		p := v.post("save", append(formatted("inv"), "action", action, "add_type", "timestamp")...)
		if got := order(p); got != want {
			t.Errorf("%s: the parts are %s", action, got)
		}
		if !strings.Contains(p.text, `value="A-"`) || !strings.Contains(p.text, "autofocus") {
			t.Errorf("%s: what was typed or the focus is lost: %s", action, p.text)
		}
	}
	if list := v.get("keys"); !strings.Contains(list.text, "There is no key yet") {
		t.Error("something was stored")
	}
	all := v.post("save", append(formatted("inv"), "action", "remove 0", "parts[1].type", "")...)
	all.wantPage(http.StatusOK).wantNo(`name="parts[0].type"`)
}

// TestPattern edits a key of the deployed worker's dialect, and turns it into parts.
func TestPattern(t *testing.T) {
	s := start(t, Options{})
	s.saveConfig("formatted", `{"name": "po", "pattern": "PO{YYYY}{MM}{DD}-{SEQ:4}", "sequence_reset": "daily"}`)
	v := s.login()
	p := v.get("edit?key=po").wantPage(http.StatusOK, "{SEQ:4}", `value="daily" selected`)
	p.wantNo(`name="parts[0].type"`)
	v.post("save", "type", "formatted", "key", "po", "version", "1", "name", "Purchase", "pattern", "PO{YYYY}{MM}{DD}-{SEQ:4}", "sequence_reset", "daily").wantTo("./key?done=saved&key=po")
	parts := v.post("save", "type", "formatted", "key", "po", "version", "2", "pattern", "PO{YYYY}-{SEQ:4}", "sequence_reset", "yearly", "action", "parts")
	parts.wantPage(http.StatusOK, `name="parts[0].type"`).wantNo(`name="pattern"`)
}

func TestDelete(t *testing.T) {
	s := start(t, Options{})
	s.saveConfig("increment", `{"key": "orders", "base": 1000}`)
	v := s.login()
	v.get("delete?key=orders").wantPage(http.StatusOK, "continues after it", "Type the key to confirm")
	v.post("delete", "key", "orders", "typed", "order").wantPage(http.StatusBadRequest, "Type it exactly", `value="order"`)
	v.get("key?key=orders").wantPage(http.StatusOK)
	v.post("delete", "key", "orders", "typed", "orders").wantTo("./keys?done=deleted")
	v.get("keys?done=deleted").wantPage(http.StatusOK, "The key was deleted.")
	v.get("key?key=orders").wantPage(http.StatusNotFound)
	v.post("delete", "key", "orders", "typed", "orders").wantPage(http.StatusNotFound)
}
