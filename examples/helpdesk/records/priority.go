// SPDX-License-Identifier: Apache-2.0

package records

// Priority tells how soon a ticket should be answered.
type Priority int

// The priorities, ascending.
const (
	Low Priority = iota
	Normal
	Urgent
)

var priorityNames = []string{"low", "normal", "urgent"}

// String names the priority.
func (p Priority) String() string { return name(priorityNames, int(p)) }

// MarshalText implements [encoding.TextMarshaler].
func (p Priority) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *Priority) UnmarshalText(text []byte) (err error) {
	*p, err = parse[Priority]("priority", priorityNames, text)
	return err
}
