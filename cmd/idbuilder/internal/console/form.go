// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
)

// form is a configuration as an admin typed it.
type form struct {
	Type    idconfig.Type
	Values  url.Values
	Faults  []*idconfig.ParamError
	Refusal *idconfig.ChangeError // why the change needs force
	Focus   string                // the input with the focus
}

// New reports whether the form creates a key.
func (f *form) New() bool { return f.Values.Get("version") == "" }

// Key returns the key.
func (f *form) Key() string { return f.Values.Get("key") }

// Force reports whether the admin accepts that IDs may come twice.
func (f *form) Force() bool { return f.Values.Get("force") != "" }

// ByPattern reports whether the format is one pattern, rather than parts.
func (f *form) ByPattern() bool { return f.Values.Has("pattern") }

// KeyField returns the field of the key.
func (f *form) KeyField() field { return f.fillField(keyField, "") }

// Fields returns the fields of the type.
func (f *form) Fields() []field {
	if f.ByPattern() {
		return f.fillFields(patternFields, "")
	}
	return f.fillFields(fieldsOf(f.Type), "")
}

// More returns the fields that are seldom used.
func (f *form) More() []field {
	if f.Type == idconfig.TypeIncrement {
		return f.fillFields(append(limitFields[:len(limitFields):len(limitFields)], sharedFields[1]), "")
	}
	return f.fillFields(sharedFields[1:], "")
}

// NameField returns the field of the name.
func (f *form) NameField() field { return f.fillField(sharedFields[0], "") }

// MoreFaults reports whether a fault is in a field of More.
func (f *form) MoreFaults() bool {
	for _, d := range f.More() {
		if len(d.Faults) > 0 {
			return true
		}
	}
	return false
}

// fillFields returns fields with the typed texts and their faults. Names of inputs begin with the prefix.
func (f *form) fillFields(list []field, prefix string) (filled []field) {
	for _, d := range list {
		filled = append(filled, f.fillField(d, prefix))
	}
	return filled
}

func (f *form) fillField(d field, prefix string) field {
	d.Name = prefix + d.Param
	d.Value = f.Values.Get(d.Name)
	d.Focus = d.Name == f.Focus
	for _, fault := range f.Faults {
		if fault.Param == d.Name {
			d.Faults = append(d.Faults, sentence(fault.Reason))
		}
	}
	return d
}

// FaultLink returns the id of the input that a fault is about.
func (f *form) FaultLink(fault *idconfig.ParamError) string { return field{Name: fault.Param}.ID() }

// FaultText returns a fault with the label of its field.
func (f *form) FaultText(fault *idconfig.ParamError) string {
	for _, d := range f.allFields() {
		if d.Name == fault.Param {
			return d.Label + ": " + fault.Reason
		}
	}
	return sentence(fault.Reason)
}

// allFields returns every field of the form. The labels of a part's fields begin with its number.
func (f *form) allFields() []field {
	list := append(append(f.Fields(), f.More()...), f.KeyField(), f.NameField())
	for _, p := range f.Parts() {
		for _, d := range p.Fields {
			d.Label = fmt.Sprintf("Part %d, %s", p.Number(), d.Label)
			list = append(list, d)
		}
	}
	return list
}

// takeFaults takes the faults of the form out of an error. It returns the errors that are
// not about the form.
func (f *form) takeFaults(err error) error {
	var answer *api.Error
	switch f.Refusal = worker.Refusal(err); {
	case f.Refusal != nil:
		return nil
	case errors.As(err, &answer) && answer.HTTPStatus() == 409:
		f.Faults = append(f.Faults, &idconfig.ParamError{Param: "key", Reason: "there is such a key already; open it in the list of keys to change it"})
		return nil
	}
	var other []error
	for _, e := range unjoin(err) {
		var fault *idconfig.ParamError
		if !errors.As(e, &fault) {
			other = append(other, e)
			continue
		}
		f.Faults = append(f.Faults, &idconfig.ParamError{Param: specified(fault.Param), Reason: fault.Reason, Err: fault.Err})
	}
	return errors.Join(other...)
}

// unjoin returns the errors that were joined.
func unjoin(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

// specified returns the name of a parameter in the dialect of the form.
func specified(param string) string {
	switch param {
	case "start":
		return "base"
	case "step":
		return "delta"
	}
	return param
}

// readInteger reads a whole number, "" if nothing was typed.
func (f *form) readInteger(name string) (n int64, given bool) {
	typed := strings.TrimSpace(f.Values.Get(name))
	if typed == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(typed, "−", "-"), 10, 64)
	if err != nil {
		reason := fmt.Sprintf("it is %q; wanted is a whole number", typed)
		if errors.Is(err, strconv.ErrRange) {
			reason += fmt.Sprintf(" from %d to %d", minInt64, maxInt64)
		}
		f.Faults = append(f.Faults, &idconfig.ParamError{Param: name, Reason: reason})
		return 0, false
	}
	return n, true
}

const (
	minInt64 = -1 << 63
	maxInt64 = 1<<63 - 1
)

// buildRequest returns the request of the API for the form, or nil if the form has faults.
// The API makes all checks, except for texts that are not numbers.
func (f *form) buildRequest(now time.Time) (*idconfig.Request, error) {
	body := map[string]any{"key": f.Key(), "name": f.Values.Get("name"), "key_token_enable": f.Values.Get("key_token_enable") != "", "force": f.Force()}
	switch {
	case f.Type == idconfig.TypeIncrement:
		f.incrementBody(body)
	case f.Type == idconfig.TypeSnowflake:
		f.putFields(body, "", snowflakeFields)
	case f.ByPattern():
		f.putFields(body, "", patternFields)
	default:
		body["parts"] = f.partBodies()
	}
	if len(f.Faults) > 0 {
		return nil, nil
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := idconfig.Parse(f.Type, text, now)
	if err != nil {
		return nil, f.takeFaults(err)
	}
	if r.CreateOnly = f.New(); !r.CreateOnly {
		r.Replaces = f.shownVersion()
	}
	return r, nil
}

// shownVersion returns the version of the key that the form shows; -1, which no key has, if it is
// not a version.
func (f *form) shownVersion() int64 {
	version, err := strconv.ParseInt(f.Values.Get("version"), 10, 64)
	if err != nil || version < 1 {
		return -1
	}
	return version
}

// incrementBody gives a negative distance the name that the API has for it.
func (f *form) incrementBody(body map[string]any) {
	f.putFields(body, "", incrementFields)
	f.putFields(body, "", limitFields)
	if delta, ok := body["delta"].(int64); ok && delta <= 0 {
		delete(body, "delta")
		body["step"] = delta
	}
}

// putFields puts the typed texts of fields into the body of a request, without empty
// ones.
func (f *form) putFields(body map[string]any, prefix string, fields []field) {
	for _, d := range fields {
		name := prefix + d.Param
		switch d.Control {
		case number:
			if n, ok := f.readInteger(name); ok {
				body[d.Param] = n
			}
		case moment:
			if n, ok := f.readMilliseconds(name); ok {
				body[d.Param] = n
			}
		case yesNo:
			if f.Values.Get(name) != "" {
				body[d.Param] = true
			}
		default:
			if typed := f.Values.Get(name); typed != "" || d.Param == "pattern" {
				body[d.Param] = typed
			}
		}
	}
}

// readMilliseconds reads a date, or milliseconds since 1970.
func (f *form) readMilliseconds(name string) (n int64, given bool) {
	typed := strings.TrimSpace(f.Values.Get(name))
	if day, err := time.Parse(time.DateOnly, typed); err == nil {
		return day.UnixMilli(), true
	}
	if _, err := strconv.ParseInt(typed, 10, 64); typed != "" && err != nil {
		f.Faults = append(f.Faults, &idconfig.ParamError{Param: name, Reason: fmt.Sprintf("it is %q; wanted is a date such as 2026-01-01, or milliseconds since 1970", typed)})
		return 0, false
	}
	return f.readInteger(name)
}

// newForm returns the form of a new key of a type.
func newForm(t idconfig.Type, now time.Time) *form {
	f := &form{Type: t, Values: url.Values{}, Focus: "key"}
	for _, d := range fieldsOf(t) {
		f.Values.Set(d.Param, d.Value)
	}
	if t == idconfig.TypeSnowflake {
		f.Values.Set("base_ts", strconv.Itoa(now.UTC().Year())+"-01-01")
	}
	if t == idconfig.TypeFormatted {
		f.setParts(exampleParts)
	}
	return f
}

// formOf returns the form that changes a key.
func formOf(c *idconfig.Config) *form {
	f := &form{Type: c.Type, Values: url.Values{"version": {strconv.FormatInt(c.Version, 10)}, "key": {c.Key}, "name": {c.Name}}}
	f.setBool("key_token_enable", c.KeyTokenOnly)
	switch c.Type {
	case idconfig.TypeIncrement:
		i := c.Increment
		f.setNumbers(map[string]int64{"base": i.Base, "delta": i.Delta, "max_request_delta": i.MaxRequestDelta, "min": i.Min, "max": i.Max})
		f.setBool("rand_delta", i.RandDelta)
	case idconfig.TypeSnowflake:
		s := c.Snowflake
		f.setNumbers(map[string]int64{"base_ts": s.BaseTS, "ts_size": int64(s.TSSize), "worker_id_size": int64(s.WorkerIDSize), "seq_size": int64(s.SeqSize), "skip_size": int64(s.SkipSize)})
	case idconfig.TypeFormatted:
		if f.setParts(c.Formatted.Parts); c.Formatted.Pattern != "" {
			f.Values.Set("pattern", c.Formatted.Pattern)
			f.Values.Set("sequence_reset", c.Formatted.SequenceReset)
		}
	}
	return f
}

// setNumbers sets fields; one that has the value of no limit stays empty.
func (f *form) setNumbers(numbers map[string]int64) {
	for name, n := range numbers {
		if name == "min" && n == minInt64 || name == "max" && n == maxInt64 {
			continue
		}
		f.Values.Set(name, strconv.FormatInt(n, 10))
	}
}

func (f *form) setBool(name string, yes bool) {
	if yes {
		f.Values.Set(name, "yes")
	}
}
