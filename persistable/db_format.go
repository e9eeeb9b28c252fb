// SPDX-License-Identifier: Apache-2.0

package persistable

import "fmt"

// Format implements [fmt.Formatter]: it prints which engine the DB is on, and not
// the key that authenticates page tokens.
func (db *DB) Format(f fmt.State, _ rune) {
	if db == nil {
		fmt.Fprint(f, "<nil>")
		return
	}
	fmt.Fprintf(f, "persistable.DB{%T}", db.engine)
}
