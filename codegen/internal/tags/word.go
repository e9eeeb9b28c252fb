// SPDX-License-Identifier: Apache-2.0

package tags

// word is one comma-separated part of a tag: an option, with the text after an
// equals sign as its value.
type word struct {
	Text        string // the whole, without surrounding spaces
	key         string // before the first "=", or the whole
	value       string
	hasValue    bool
	Offset      int // offset in the tag's literal
	ValueOffset int
}

// scatterOffset is where a fault of the option's value is.
func (w word) scatterOffset() int {
	if w.hasValue {
		return w.ValueOffset
	}
	return w.Offset
}
