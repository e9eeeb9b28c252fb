// SPDX-License-Identifier: Apache-2.0

package console

import "strings"

// control is the kind of a field.
type control string

const (
	text   control = "text"
	number control = "number" // a whole number, which a script must not round
	moment control = "moment" // milliseconds since 1970, or a date
	yesNo  control = "yes-no"
	choice control = "choice"
)

// field is a labelled input of a form. Its name is the parameter's in requests of the API,
// so that faults find their field.
type field struct {
	Param    string
	Name     string // of the input: parts[1].length; the parameter's own where it stands alone
	Label    string
	Help     string
	Control  control
	Choices  []option
	Value    string
	Required bool
	Seldom   bool // shown when asked for
	Focus    bool // the page opens with the focus here
	Faults   []string
}

// option is what a choice offers.
type option struct{ Value, Label string }

// ID returns the id of the input.
func (f field) ID() string {
	return "f-" + strings.NewReplacer("[", "-", "].", "-", "]", "").Replace(f.Name)
}

// DescribedBy returns the ids of what describes the input.
func (f field) DescribedBy() string {
	var ids []string
	if len(f.Faults) > 0 {
		ids = append(ids, f.ID()+"-fault")
	}
	if f.Help != "" {
		ids = append(ids, f.ID()+"-help")
	}
	return strings.Join(ids, " ")
}

// Numeric reports whether the value is a number.
func (f field) Numeric() bool { return f.Control == number }
