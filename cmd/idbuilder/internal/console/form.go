// SPDX-License-Identifier: Apache-2.0

package console

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder"
	"github.com/kazahana-db/kazahana/internal/idbuilder/api"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
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
	switch f.Refusal = idbuilder.Refusal(err); {
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
