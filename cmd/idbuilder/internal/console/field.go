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

// field is a labelled input of a form. It has the name of the parameter in requests of the API,
// by which faults are shown at their field.
type field struct {
	Param    string
	Name     string // of the input, such as parts[1].length; outside of parts the parameter's name
	Label    string
	Help     string
	Control  control
	Choices  []option
	Value    string
	Required bool
	Seldom   bool // hidden until the admin opens more fields
	Focus    bool // the page opens with the focus here
	Faults   []string
}

// option is an option of a choice.
type option struct{ Value, Label string }

// ID returns the id of the input.
func (f field) ID() string {
	return "f-" + strings.NewReplacer("[", "-", "].", "-", "]", "").Replace(f.Name)
}

// DescribedBy returns the ids of the elements that describe the input.
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
