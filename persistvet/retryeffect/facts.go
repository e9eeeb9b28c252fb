// SPDX-License-Identifier: Apache-2.0

package retryeffect

import "strings"

// addition is the fact that a method which runs in a transaction adds to fields of its
// receiver, without having begun anew: in an outer variable they have what each attempt added.
type addition struct{ Fields []string }

// AFact makes addition a fact.
func (*addition) AFact() {}

// String describes the fact in the tests of analyzers.
func (a *addition) String() string { return "adds to " + strings.Join(a.Fields, ", ") }

// reset is the fact that a method gives fields of its receiver new values. The field "" is the
// whole receiver.
type reset struct{ Fields []string }

// AFact makes reset a fact.
func (*reset) AFact() {}

// String describes the fact in the tests of analyzers.
func (r *reset) String() string { return "resets " + strings.Join(r.Fields, ", ") }
