// SPDX-License-Identifier: Apache-2.0

package kvtest

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// Only a conflict of the first engine, after a read past the end with
// read-your-writes disabled, can be one with a key of the client's own.
func TestConflictsWithClientsOwnKeys(t *testing.T) {
	past, near := step{Op: "get_key", Key: literal("a"), Offset: 5000}, step{Op: "get_key", Key: literal("a"), Offset: 1}
	begin, disable := step{Op: "begin"}, step{Op: "set_option", Option: "read_your_writes_disable"}
	conflict, done := answer{kind: "error", code: kv.CodeNotCommitted}, answer{}
	other, view := past, past
	other.Tx, view.Snapshot = 1, true
	for name, tt := range map[string]struct {
		before []step
		op     string
		a, b   answer
		want   bool
	}{
		"past the end":              {[]step{begin, disable, past}, "commit", conflict, done, true},
		"awaited":                   {[]step{begin, disable, past}, "commit_await", conflict, done, true},
		"not past the end":          {[]step{begin, disable, near}, "commit", conflict, done, false},
		"before the option":         {[]step{begin, past, disable}, "commit", conflict, done, false},
		"before a reset":            {[]step{begin, disable, past, {Op: "reset"}}, "commit", conflict, done, false},
		"by another transaction":    {[]step{begin, disable, other}, "commit", conflict, done, false},
		"by a snapshot read":        {[]step{begin, disable, view}, "commit", conflict, done, false},
		"on the second engine only": {[]step{begin, disable, past}, "commit", done, conflict, false},
		"another error":             {[]step{begin, disable, past}, "commit", conflict, answer{kind: "error", code: kv.CodeTransactionTooOld}, false},
		"not a commit":              {[]step{begin, disable, past}, "get", conflict, done, false},
	} {
		if got := byClientsOwnKey(tt.before, &step{Op: tt.op}, [2]answer{tt.a, tt.b}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
