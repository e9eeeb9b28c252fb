// SPDX-License-Identifier: Apache-2.0

package election_test

import (
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/internal/enginetest"
	"github.com/kazahana-db/kazahana/kv"
)

// TestLayoutDocument makes what docs/layout.md shows and compares every key and value of
// the directory.
func TestLayoutDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := enginetest.InProcess(t)
		terms := make(chan event, 2)
		leader := start(t, db, short("host-1"), terms)
		<-terms
		standby := start(t, db, withPriority("host-2", 7), terms)
		time.Sleep(lease/3 + latency) // one renewal
		if diff := cmp.Diff(documented(t), stored(t, db)); diff != "" {
			t.Errorf("docs/layout.md differs from the database (-document +database):\n%s", diff)
		}
		leader.stop(t)
		standby.stop(t)
	})
}

// random are the request id and the name of a member: 26 letters and digits.
var random = regexp.MustCompile(`02(3[2-7]|[45][0-9a-f]){26}00`)

func documented(t *testing.T) []string {
	t.Helper()
	text := must[[]byte](t)(os.ReadFile("../docs/layout.md"))
	_, block, found := strings.Cut(string(text), "```election\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/layout.md has no block of an election")
	}
	block = regexp.MustCompile(`#.*`).ReplaceAllString(block, "")
	block = regexp.MustCompile(`\s+`).ReplaceAllString(block, "")
	return strings.Split(strings.TrimSuffix(block, ";"), ";")
}

func stored(t *testing.T, db kv.Database) (all []string) {
	t.Helper()
	dir := must[*directory.Directory](t)(directory.Root().Open(ctx, db, []string{"kazahana", "elections"}))
	prefix := must[[]byte](t)(dir.Prefix())
	pairs := must[[]kv.KeyValue](t)(kv.ReadTransact(ctx, db, func(tx kv.ReadTransaction) ([]kv.KeyValue, error) {
		return tx.GetRange(kv.PrefixRange(prefix).Selectors(), kv.RangeOptions{}).Slice(ctx)
	}))
	for _, pair := range pairs {
		text := hex.EncodeToString(pair.Key[len(prefix):]) + "=" + hex.EncodeToString(pair.Value)
		all = append(all, "<dir>"+random.ReplaceAllString(text, "02<random>00"))
	}
	return all
}
