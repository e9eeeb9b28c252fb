// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

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
