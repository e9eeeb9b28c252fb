// SPDX-License-Identifier: Apache-2.0

package directory

import "github.com/kazahana-db/kazahana/kv"

// Condition says whether a verb may change the directory that it has found at its path:
// its error ends the verb, which then changes nothing and returns that error, wrapped.
// It runs in the transaction of the verb, so what it reads in tx still holds when
// the change takes effect; tx is a [kv.Transaction], and what it writes there commits with
// the change. It runs again with each attempt: it must have no effect
// outside of tx. A condition that compares [Directory.Reserve] with that of an earlier
// transaction knows the directory again: no other one gets the same, unless a program
// chooses prefixes itself ([Layer.CreatePrefix]).
type Condition func(tx kv.ReadTransaction, d *Directory) error

// always allows every change.
func always(kv.ReadTransaction, *Directory) error { return nil }
