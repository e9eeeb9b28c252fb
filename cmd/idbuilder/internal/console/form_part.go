// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kazahana-db/kazahana/idbuilder/format"
	"github.com/kazahana-db/kazahana/internal/idbuilder/idconfig"
)

// maxParts bounds the parts of a form; the API's limit is not higher.
const maxParts = 32

// exampleParts are the parts in the form of a new format.
var exampleParts = []format.Part{
	{Type: format.FixedChars, Value: "INV-"},
	{Type: format.DateFormat, Format: "yyyyMMdd"},
	{Type: format.FixedChars, Value: "-"},
	{Type: format.AutoIncrement, Length: 4, ResetScope: format.ResetDate},
}

// partForm is a part of a format in the form.
type partForm struct {
	Index  int
	Kind   partKind
	Fields []field
	Faults []string // of the part as a whole
	Last   bool
}

// Often returns the fields that are shown at once, and Seldom the others.
func (p partForm) Often() []field { return p.fieldsWhere(false) }

// Seldom returns the fields that are hidden at first.
func (p partForm) Seldom() []field { return p.fieldsWhere(true) }

func (p partForm) fieldsWhere(seldom bool) (list []field) {
	for _, d := range p.Fields {
		if d.Seldom == seldom {
			list = append(list, d)
		}
	}
	return list
}

// Open reports whether a field of Seldom has a text or a fault.
func (p partForm) Open() bool {
	for _, d := range p.Seldom() {
		if len(d.Faults) > 0 || d.Focus {
			return true
		}
	}
	return false
}

// Number returns the place of the part, from 1.
func (p partForm) Number() int { return p.Index + 1 }

// Parts returns the parts that the form has.
func (f *form) Parts() (parts []partForm) {
	if f.ByPattern() {
		return nil
	}
	n := f.partCount()
	for i := range n {
		kind, _ := partKindOf(format.Type(f.Values.Get(partName(i) + "type")))
		p := partForm{Index: i, Kind: kind, Fields: f.fillFields(kind.Fields, partName(i)), Last: i == n-1}
		for _, fault := range f.Faults {
			if fault.Param == strings.TrimSuffix(partName(i), ".") {
				p.Faults = append(p.Faults, sentence(fault.Reason))
			}
		}
		parts = append(parts, p)
	}
	return parts
}

// PartKinds returns the types of parts that can be added.
func (f *form) PartKinds() []partKind { return partKinds }

// partCount counts the parts of known types, from the first one on.
func (f *form) partCount() int {
	for i := range maxParts {
		if _, ok := partKindOf(format.Type(f.Values.Get(partName(i) + "type"))); !ok {
			return i
		}
	}
	return maxParts
}

// partName returns the prefix of the names of a part's inputs.
func partName(i int) string { return fmt.Sprintf("parts[%d].", i) }

// partBodies returns the parts for the API.
func (f *form) partBodies() []map[string]any {
	bodies := []map[string]any{}
	for i := range f.partCount() {
		kind := f.Values.Get(partName(i) + "type")
		body := map[string]any{"type": kind}
		k, _ := partKindOf(format.Type(kind))
		f.putFields(body, partName(i), k.Fields)
		bodies = append(bodies, body)
	}
	return bodies
}

// setParts sets the fields of all parts.
func (f *form) setParts(parts []format.Part) {
	for i, p := range parts {
		text, err := json.Marshal(p)
		if err != nil {
			panic(err) // a Part has texts, numbers and booleans alone
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal(text, &body); err != nil {
			panic(err)
		}
		for name, value := range body {
			typed := string(value)
			_ = json.Unmarshal(value, &typed) // a text; the JSON of the others is the text to show
			f.Values.Set(partName(i)+name, typed)
		}
	}
}

// changeParts does the action of a button of the list of parts: "add", or "up", "down" and
// "remove" with the index of a part. It reports whether the action is one of these.
func (f *form) changeParts(action string) bool {
	verb, place, _ := strings.Cut(action, " ")
	i, _ := strconv.Atoi(place)
	parts := f.takeParts()
	done := true
	switch inside := i >= 0 && i < len(parts); {
	case verb == "add" && len(parts) < maxParts:
		parts = append(parts, newPart(format.Type(f.Values.Get("add_type"))))
		i = len(parts) - 1
	case verb == "remove" && inside:
		parts = slices.Delete(parts, i, i+1)
		i = min(i, len(parts)-1)
	case verb == "up" && inside && i > 0:
		parts[i-1], parts[i] = parts[i], parts[i-1]
		i--
	case verb == "down" && inside && i < len(parts)-1:
		parts[i+1], parts[i] = parts[i], parts[i+1]
		i++
	case verb == "parts":
		f.splitPattern()
		return true
	default:
		done = false
	}
	f.giveParts(parts)
	f.focusPart(i)
	return done
}

// splitPattern replaces a pattern by its parts, unless it has faults.
func (f *form) splitPattern() {
	parts, err := format.ParsePattern(f.Values.Get("pattern"), f.Values.Get("sequence_reset"))
	if err != nil {
		f.Faults = append(f.Faults, &idconfig.ParamError{Param: "pattern", Reason: err.Error()})
		return
	}
	f.Values.Del("pattern")
	f.Values.Del("sequence_reset")
	f.setParts(parts)
	f.focusPart(0)
}

// focusPart puts the focus into the first field of a part.
func (f *form) focusPart(i int) {
	if i < 0 || i >= f.partCount() {
		f.Focus = "add_type"
		return
	}
	kind, _ := partKindOf(format.Type(f.Values.Get(partName(i) + "type")))
	f.Focus = partName(i) + kind.Fields[0].Param
}

// newPart returns the fields of a new part.
func newPart(t format.Type) url.Values {
	kind, ok := partKindOf(t)
	if !ok {
		kind = partKinds[0]
	}
	values := url.Values{"type": {string(kind.Type)}}
	for _, d := range kind.Fields {
		values.Set(d.Param, d.Value)
	}
	return values
}

// takeParts takes the fields of each part out of the form.
func (f *form) takeParts() (parts []url.Values) {
	for i := range f.partCount() {
		part := url.Values{}
		for name, values := range f.Values {
			if param, ok := strings.CutPrefix(name, partName(i)); ok {
				part[param] = values
				delete(f.Values, name)
			}
		}
		parts = append(parts, part)
	}
	return parts
}

func (f *form) giveParts(parts []url.Values) {
	for i, part := range parts {
		for param, values := range part {
			f.Values[partName(i)+param] = values
		}
	}
}
