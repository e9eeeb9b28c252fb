// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"

	"github.com/kazahana-db/kazahana/tuple"
)

// Finding is a place that is not as it should be.
type Finding struct {
	Code     string
	Severity Severity
	Path     []string // of the directory; of the nearest one for keys that none owns
	Type     string   // of the records; empty if it is about none
	Index    string   // the name in keys; empty if it is about none
	ID       string   // of the record, as a tuple; empty if it is about none
	Key      []byte   // in the database; nil if it is about no key
	Place    string   // the key behind the directory's prefix, as a tuple
	Reason   string
	Remedy   string
	Places   int // how many there are, if the remedy is for a whole store: ID, Key and Reason are of the first; otherwise 1
}

// String describes the finding in one line.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: ", f.Severity, f.Code)
	if len(f.Path) > 0 {
		fmt.Fprintf(&b, "%s: ", strings.Join(f.Path, "/"))
	}
	if f.Index != "" {
		fmt.Fprintf(&b, "index %s: ", f.Index)
	}
	if f.ID != "" {
		fmt.Fprintf(&b, "%s %s: ", f.Type, f.ID)
	}
	b.WriteString(f.Reason)
	if f.Places > 1 {
		fmt.Fprintf(&b, " (the first of %d)", f.Places)
	}
	if f.Place != "" {
		fmt.Fprintf(&b, " [%s]", f.Place)
	}
	return b.String()
}

// newFinding returns a finding of a code about a key in a directory with that prefix.
func newFinding(code string, path []string, prefix, key []byte, format string, args ...any) Finding {
	code = codeFor(code, args)
	c, known := codes[code]
	if !known {
		panic("doctor: there is no code " + code)
	}
	f := Finding{Code: code, Severity: c.Severity, Remedy: c.Remedy, Path: path, Reason: fmt.Sprintf(format, args...), Places: 1}
	if key != nil {
		f.Key = append([]byte{}, key...)
		f.Place = tuple.Describe(f.Key[min(len(prefix), len(key)):])
	}
	return f
}
