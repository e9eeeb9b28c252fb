// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// formPage is the data of the page with a form.
type formPage struct {
	*form
	Preview preview
}

// showNew shows the form of a new key, or, without a type, the types to choose from.
func (c *Console) showNew(v *visit) error {
	t := idconfig.Type(v.FormValue("type"))
	switch t {
	case "":
		return v.render(http.StatusOK, page{Name: "new", Title: "New key", Section: "keys"})
	case idconfig.TypeIncrement, idconfig.TypeSnowflake, idconfig.TypeFormatted:
		return v.renderForm(http.StatusOK, newForm(t, c.options.Now()))
	}
	return errNotFound
}

func (c *Console) showEdit(v *visit) error {
	config, _, err := c.worker.Config(v.Context(), v.FormValue("key"))
	if err != nil {
		return err
	}
	return v.renderForm(http.StatusOK, formOf(config))
}

// saveForm saves the form, or does the action of another button in it. It shows a form with
// faults again, with the texts that the admin typed.
func (c *Console) saveForm(v *visit) error {
	f, err := v.readForm()
	if err != nil {
		return err
	}
	if action := v.PostFormValue("action"); action == "preview" || f.changeParts(action) {
		return v.renderForm(http.StatusOK, f)
	}
	f.Focus = ""
	r, err := f.buildRequest(c.options.Now())
	if err == nil && r != nil {
		err = c.saveRequest(v, f, r)
	}
	switch {
	case err != nil:
		return err
	case f.Refusal != nil:
		return v.renderForm(http.StatusConflict, f)
	case len(f.Faults) > 0:
		return v.renderForm(http.StatusBadRequest, f)
	}
	done := "saved"
	if f.New() {
		done = "created"
	}
	v.logAction(done+" the key", f.Key())
	v.redirect("key", url.Values{"key": {f.Key()}, "done": {done}})
	return nil
}

// saveRequest saves the form, unless the key was changed since the form was shown.
func (c *Console) saveRequest(v *visit, f *form, r *idconfig.Request) error {
	err := c.worker.SaveConfig(v.Context(), r)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, worker.ErrChanged):
		return f.takeFaults(err)
	}
	now, _, err := c.worker.Config(v.Context(), r.Key)
	if err != nil {
		return err
	}
	f.Faults = append(f.Faults, &idconfig.ParamError{Param: "version", Reason: fmt.Sprintf("the key was changed by someone else at %s; check it, and save once more to put this form in its place", now.Updated.UTC().Format("15:04:05 UTC"))})
	f.Values.Set("version", strconv.FormatInt(now.Version, 10))
	return nil
}

// deletePage asks whether to delete a key.
type deletePage struct {
	Config *idconfig.Config
	Typed  string
	Fault  string
}

func (c *Console) showDelete(v *visit) error {
	config, _, err := c.worker.Config(v.Context(), v.FormValue("key"))
	if err != nil {
		return err
	}
	return v.renderDelete(http.StatusOK, deletePage{Config: config})
}

// deleteKey deletes the key if the admin typed its name.
func (c *Console) deleteKey(v *visit) error {
	config, _, err := c.worker.Config(v.Context(), v.PostFormValue("key"))
	if err != nil {
		return err
	}
	if typed := v.PostFormValue("typed"); typed != config.Key {
		return v.renderDelete(http.StatusBadRequest, deletePage{config, typed, "That is not the key. Type it exactly as it is shown above."})
	}
	if err := c.worker.DeleteConfig(v.Context(), config.Key); err != nil && !isNotFound(err) {
		return err
	}
	v.logAction("deleted the key", config.Key)
	v.redirect("keys", url.Values{"done": {"deleted"}})
	return nil
}

// previewed is the number of IDs in a preview.
const previewed = 5

// preview is the data of a preview: the IDs that a configuration would give.
type preview struct {
	IDs     []string
	Faults  []string // why there are none
	Refusal string   // why a change needs force
	Notes   []string // in words
	Certain bool     // a formatted key: the guarantee is one
	Odds    string   // how unique formatted IDs are
	Bits    []bits   // of a snowflake key
}

// bits are a section of the bits of a snowflake ID.
type bits struct {
	Name  string
	Count int
	From  int // place of the first one, from the left
	Class string
}

// Middle returns the middle of the section.
func (b bits) Middle() string {
	return strconv.FormatFloat(float64(b.From)+float64(b.Count)/2, 'f', -1, 64)
}

// showPreview sends a preview to the script while an admin types.
func (c *Console) showPreview(v *visit) error {
	f, err := v.readForm()
	if err != nil {
		return err
	}
	p, err := c.previewForm(v.Context(), f)
	if err != nil {
		return err
	}
	return v.renderFragment("preview", p)
}

// previewForm returns the preview of a form. It does not change the form's faults.
func (c *Console) previewForm(ctx context.Context, f *form) (p preview, err error) {
	draft := &form{Type: f.Type, Values: f.Values}
	named := f.Key() != ""
	if !named {
		draft.Values = cloneValues(f.Values)
		draft.Values.Set("key", "preview") // any key will do: the preview is not stored
	}
	r, err := draft.buildRequest(c.options.Now())
	if err != nil {
		return p, err
	}
	for _, fault := range draft.Faults {
		p.Faults = append(p.Faults, draft.FaultText(fault))
	}
	if r == nil {
		return p, nil
	}
	if !named {
		r.Key = ""
	}
	return c.previewOf(ctx, &r.Config)
}

// previewOf returns the preview of a configuration.
func (c *Console) previewOf(ctx context.Context, config *idconfig.Config) (p preview, err error) {
	w, err := c.worker.Preview(ctx, config, previewed)
	if err != nil {
		return p, err
	}
	p.IDs = w.IDs
	if w.Refusal != nil {
		p.Refusal = sentence(w.Refusal.Reason)
	}
	switch config.Type {
	case idconfig.TypeIncrement:
		p.describeIncrement(config.Increment)
	case idconfig.TypeSnowflake:
		p.describeSnowflake(config.Snowflake)
	case idconfig.TypeFormatted:
		p.describeFormat(config.Formatted.Format)
	}
	return p, nil
}

func (p *preview) addNote(text string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(text, args...))
}

func (p *preview) describeIncrement(i *idconfig.Increment) {
	if i.RandDelta {
		p.addNote("Distances are random: these are one possibility.")
	}
	if len(p.IDs) < previewed {
		p.addNote("The sequence ends at %d.", i.Bound())
	}
}

func (p *preview) describeFormat(f *format.Format) {
	g := f.Guarantee()
	p.Certain, p.Odds = g.Certain, sentence(g.String())
	if g.Bits > 0 {
		p.addNote("Random characters are examples.")
	}
	for _, counter := range f.Counters() {
		if counter.Max < maxInt64 && counter.Reset == format.ResetNever {
			p.addNote("The key ends after %s IDs.", grouped(counter.Max))
		} else if counter.Max < maxInt64 {
			p.addNote("At most %s IDs each %s.", grouped(counter.Max), periods[counter.Reset])
		}
	}
	if len(p.IDs) < previewed {
		p.addNote("The sequence has come to its end.")
	}
}

var periods = map[format.Reset]string{format.ResetYear: "year", format.ResetMonth: "month", format.ResetDate: "day"}

func (p *preview) describeSnowflake(s *idconfig.Snowflake) {
	at := 0
	for _, b := range []bits{{Name: "unused", Count: s.SkipSize, Class: "skip"}, {Name: "time", Count: s.TSSize, Class: "time"}, {Name: "worker", Count: s.WorkerIDSize, Class: "worker"}, {Name: "sequence", Count: s.SeqSize, Class: "seq"}} {
		b.From = at
		at += b.Count
		if b.Count > 0 {
			p.Bits = append(p.Bits, b)
		}
	}
	p.addNote("%s may make IDs at once, each %s in a millisecond.", plural(1<<s.WorkerIDSize, "client"), grouped(1<<s.SeqSize))
	if s.TSSize < 48 { // beyond the year 9999 otherwise
		p.addNote("The time ends on %s.", time.UnixMilli(s.BaseTS+1<<s.TSSize-1).UTC().Format("2 January 2006"))
	}
	p.addNote("Shown are IDs of the worker id 0, made now. JavaScript must read IDs as texts: they are beyond 2⁵³.")
}

func cloneValues(values map[string][]string) map[string][]string {
	clone := make(map[string][]string, len(values))
	for name, list := range values {
		clone[name] = list
	}
	return clone
}
