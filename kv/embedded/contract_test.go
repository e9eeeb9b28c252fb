// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/kazahana-db/kazahana/kv"
)

// wantCode fails the test unless err has the code; 0 is no error.
func wantCode(t testing.TB, what string, err error, code kv.Code) {
	t.Helper()
	if kv.CodeOf(err) != code || (err == nil) != (code == 0) {
		t.Errorf("%s: %v, want code %d", what, err, int(code))
	}
}

func getErr(t testing.TB, tx kv.ReadTransaction, key string) error {
	_, err := tx.Get([]byte(key)).Get(t.Context())
	return err
}

// TestMetadataVersion checks the one system key that every transaction may use:
// what it may write to it, when it may read it, and that it outlives a restart.
func TestMetadataVersion(t *testing.T) {
	fs := vfs.NewMem()
	db := openTest(t, tiny(fs))
	key := []byte(kv.MetadataVersionKey)
	stamped := begin(t, db)
	stamped.Atomic(kv.SetVersionstampedValue, key, make([]byte, 14))
	wantCode(t, "a read after the own stamp", getErr(t, stamped, kv.MetadataVersionKey), kv.CodeAccessedUnreadable)
	stamped.Reset()
	stamped.Atomic(kv.SetVersionstampedValue, key, make([]byte, 14))
	stamp := stamped.GetVersionstamp()
	wantCode(t, "Commit", stamped.Commit(t.Context()), 0)
	want, err := stamp.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, write := range map[string]func(kv.Transaction){
		"Set":   func(tx kv.Transaction) { tx.Set(key, want) },
		"Add":   func(tx kv.Transaction) { tx.Atomic(kv.Add, key, []byte{1}) },
		"stamp": func(tx kv.Transaction) { tx.Atomic(kv.SetVersionstampedValue, key, append(make([]byte, 13), 1)) },
	} {
		tx := begin(t, db)
		write(tx)
		wantCode(t, what+" of the metadata version", tx.Commit(t.Context()), kv.CodeClientInvalidOperation)
	}
	closeTest(t, db)
	db = openTest(t, tiny(fs))
	defer closeTest(t, db)
	got, err := begin(t, db).Get(key).Get(t.Context())
	if err != nil || string(got) != string(want) {
		t.Errorf("after a restart the metadata version is %x (%v), want %x", got, err, want)
	}
	if pairs, err := readPairs(begin(t, db), everything, kv.RangeOptions{}); err != nil || len(pairs) > 0 {
		t.Errorf("a range holds %v (%v), want nothing", pairs, err)
	}
}

// TestTooManyWatches checks the limit of outstanding watches.
func TestTooManyWatches(t *testing.T) {
	db := memoryWith(t)
	tx := begin(t, db)
	futures := make([]kv.Future[struct{}], kv.MaxWatches)
	for i := range futures {
		futures[i] = tx.Watch(fmt.Appendf(nil, "%d", i%7))
		if futures[i].Ready() {
			t.Fatalf("watch %d is ready at once", i)
		}
	}
	_, err := tx.Watch([]byte("one more")).Get(t.Context())
	wantCode(t, "one watch more", err, kv.CodeTooManyWatches)
	futures[0].Cancel()
	if last := tx.Watch([]byte("one more")); last.Ready() {
		t.Error("after one was cancelled there is no room for another")
	}
}

// TestSystemKeys checks what the options for system keys open: reading, and
// writing as well.
func TestSystemKeys(t *testing.T) {
	const key = "\xff/key"
	db := memoryWith(t, "a")
	for _, c := range []struct {
		option      kv.Option
		read, write kv.Code
	}{
		{kv.OptionBypassUnreadable, kv.CodeKeyOutsideLegalRange, kv.CodeKeyOutsideLegalRange}, // has nothing to do with it
		{kv.OptionReadSystemKeys, 0, kv.CodeKeyOutsideLegalRange},
		{kv.OptionAccessSystemKeys, 0, 0},
	} {
		tx := begin(t, db)
		wantCode(t, "SetOption", tx.SetOption(c.option, 0), 0)
		wantCode(t, fmt.Sprintf("option %d: read", c.option), getErr(t, tx, key), c.read)
		other := begin(t, db)
		wantCode(t, "SetOption", other.SetOption(c.option, 0), 0)
		other.Clear([]byte(key))
		wantCode(t, fmt.Sprintf("option %d: write", c.option), other.Commit(t.Context()), c.write)
	}
}

// TestOptionsWithoutEffect checks that options which promise less, or ask for
// what is always so here, are taken, and that others do not exist.
func TestOptionsWithoutEffect(t *testing.T) {
	db := memoryWith(t)
	tx := begin(t, db)
	for _, o := range []kv.Option{
		kv.OptionCausalWriteRisky, kv.OptionCausalReadRisky, kv.OptionPrioritySystemImmediate,
		kv.OptionPriorityBatch, kv.OptionAutomaticIdempotency, kv.OptionLockAware,
	} {
		wantCode(t, fmt.Sprintf("option %d", o), tx.SetOption(o, 0), 0)
	}
	tx.Set([]byte("key"), nil)
	wantCode(t, "Commit", tx.Commit(t.Context()), 0)
	unknown := begin(t, db)
	if err := unknown.SetOption(12345, 0); err == nil {
		err = getErr(t, unknown, "key")
		wantCode(t, "an option that does not exist", err, kv.CodeInvalidOption)
	}
	wrong := begin(t, db)
	wrong.Atomic(99, []byte("key"), nil)
	wantCode(t, "a mutation that does not exist", wrong.Commit(t.Context()), kv.CodeInvalidMutationType)
}

// TestRangesThatTouchCountOnce checks what a commit counts against size_limit:
// the conflict ranges of two keys that follow each other at once are one.
func TestRangesThatTouchCountOnce(t *testing.T) {
	db := memoryWith(t)
	for second, want := range map[string]int64{
		"k\x00": 1 + 2 + 2*44 + 24 + 1 + 3,
		"l":     1 + 1 + 2*44 + 2*(24+1+2),
	} {
		for limit, code := range map[int64]kv.Code{want: 0, want - 1: kv.CodeTransactionTooLarge} {
			tx := begin(t, db)
			wantCode(t, "SetOption", tx.SetOption(kv.OptionSizeLimit, limit), 0)
			tx.Set([]byte("k"), nil)
			tx.Set([]byte(second), nil)
			wantCode(t, fmt.Sprintf("two keys, k and %q, within %d bytes", second, limit), tx.Commit(t.Context()), code)
		}
	}
}
