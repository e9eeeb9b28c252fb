// SPDX-License-Identifier: Apache-2.0

package dynamic

// checkArgs compares a record's {Field}s with the store's arguments.
func (t *recordType) checkArgs(record any, args []string) (field, got string, ok bool) {
	for i, p := range t.args {
		if got := p.Text(p.Get(recordOf(record).body)); got != args[i] {
			return p.Name, got, false
		}
	}
	return "", "", true
}

// fillArgs sets those {Field}s of a record that are zero to the store's arguments.
func (t *recordType) fillArgs(record any, args []string) {
	for i, p := range t.args {
		body := recordOf(record).body
		if v, err := p.ParseValue(args[i]); err == nil && p.IsZero(p.Get(body)) {
			p.Set(body, v)
		}
	}
}
