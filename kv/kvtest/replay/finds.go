// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	_ "embed"
	"strings"
	"testing"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/play"
	"github.com/kazahana-db/kazahana/kv/kvtest/internal/scenario"
)

// findLines are programs in which difftest.Run once found the embedded engine to
// differ from a cluster, with the answers of FoundationDB 7.3.
//
//go:embed testdata/finds.jsonl
var findLines []byte

// Finds replays the programs in which engines were once found to differ:
// on the engine that open returns, every step must give the answer that
// FoundationDB 7.3 gave and leave the contents that it left. Each is a subtest. The
// databases are those of [Goldens].
func Finds(t *testing.T, open func(testing.TB) kv.Database) {
	t.Helper()
	scenarios, err := scenario.Decode(bytes.NewReader(findLines), "finds.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	db := open(t)
	for i := range scenarios {
		s := &scenarios[i]
		t.Run(strings.TrimPrefix(s.Name, s.Kind+"/"), func(t *testing.T) {
			differences, err := play.Run(t.Context(), db, s)
			if err != nil {
				t.Fatal(err)
			}
			if len(differences) > 0 {
				t.Error(scenario.ShowDifferences(differences))
			}
		})
	}
}
