// SPDX-License-Identifier: Apache-2.0

package difftest

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

// Only a conflict of the first engine, after a read past the end with
// read-your-writes disabled, can be one with a key of the client's own.
func TestConflictsWithClientsOwnKeys(t *testing.T) {
	past, near := scenario.Step{Op: "get_key", Key: literal("a"), Offset: 5000}, scenario.Step{Op: "get_key", Key: literal("a"), Offset: 1}
	begin, disable := scenario.Step{Op: "begin"}, scenario.Step{Op: "set_option", Option: "read_your_writes_disable"}
	conflict, done := scenario.Answer{Kind: "error", Code: kv.CodeNotCommitted}, scenario.Answer{}
	other, view := past, past
	other.Tx, view.Snapshot = 1, true
	for name, tt := range map[string]struct {
		before []scenario.Step
		op     string
		a, b   scenario.Answer
		want   bool
	}{
		"past the end":              {[]scenario.Step{begin, disable, past}, "commit", conflict, done, true},
		"awaited":                   {[]scenario.Step{begin, disable, past}, "commit_await", conflict, done, true},
		"not past the end":          {[]scenario.Step{begin, disable, near}, "commit", conflict, done, false},
		"before the option":         {[]scenario.Step{begin, past, disable}, "commit", conflict, done, false},
		"before a reset":            {[]scenario.Step{begin, disable, past, {Op: "reset"}}, "commit", conflict, done, false},
		"by another transaction":    {[]scenario.Step{begin, disable, other}, "commit", conflict, done, false},
		"by a snapshot read":        {[]scenario.Step{begin, disable, view}, "commit", conflict, done, false},
		"on the second engine only": {[]scenario.Step{begin, disable, past}, "commit", done, conflict, false},
		"another error":             {[]scenario.Step{begin, disable, past}, "commit", conflict, scenario.Answer{Kind: "error", Code: kv.CodeTransactionTooOld}, false},
		"not a commit":              {[]scenario.Step{begin, disable, past}, "get", conflict, done, false},
	} {
		if got := byClientsOwnKey(tt.before, &scenario.Step{Op: tt.op}, [2]scenario.Answer{tt.a, tt.b}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
