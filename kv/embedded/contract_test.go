// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

// wantCode fails the test unless err has the code; 0 means no error.
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

// TestBatchesEndAtUnknownKeys checks sizes: as in FoundationDB's client, a batch that is limited in bytes ends before a key that has
// to be fetched, and each batch counts a conflict range.
func TestBatchesEndAtUnknownKeys(t *testing.T) {
	all := kv.KeyRange{Begin: []byte("a"), End: []byte("z")}.Selectors()
	whole := func(mode kv.StreamingMode, reverse bool) func(kv.Transaction) {
		return func(tx kv.Transaction) {
			if _, err := tx.GetRange(all, kv.RangeOptions{Mode: mode, Reverse: reverse, Limit: 9}).Slice(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	get := func(key string) func(kv.Transaction) {
		return func(tx kv.Transaction) {
			if _, err := tx.Snapshot().Get([]byte(key)).Get(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	clearNothing := func(tx kv.Transaction) { tx.ClearRange(kv.KeyRange{Begin: []byte("k"), End: []byte("m")}) }
	const cleared = 2 + 44 + 2 + 24 // the clear and its conflict range
	for _, c := range []struct {
		name  string
		calls []func(kv.Transaction)
		want  int64
	}{
		{"nothing known", []func(kv.Transaction){whole(kv.ModeWantAll, false)}, 2 + 24},
		{"a key known", []func(kv.Transaction){get("b"), whole(kv.ModeWantAll, false)}, 2 + 24},
		{"a gap that is cleared", []func(kv.Transaction){clearNothing, whole(kv.ModeWantAll, false)}, cleared + 3*(3+24)},
		{"the same backward", []func(kv.Transaction){clearNothing, whole(kv.ModeWantAll, true)}, cleared + 2 + 24 + 2*(2+24)},
		{"limited in rows only", []func(kv.Transaction){clearNothing, whole(kv.ModeExact, false)}, cleared + 2*(2+24)},
		{"all known", []func(kv.Transaction){clearNothing, whole(kv.ModeExact, false), whole(kv.ModeWantAll, false)}, cleared + 4*(2+24)},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := memoryWith(t, "a", "b", "n")
			tx, err := db.Begin()
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Cancel()
			for _, call := range c.calls {
				call(tx)
			}
			if got, err := tx.GetApproximateSize().Get(t.Context()); err != nil || got != c.want {
				t.Errorf("size %d (%v), want %d", got, err, c.want)
			}
		})
	}
}

// memoryWith opens a database with keys.
func memoryWith(t testing.TB, keys ...string) *Database {
	t.Helper()
	db, err := OpenMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeTest(t, db) })
	transact(t, db, func(tx kv.Transaction) {
		for _, key := range keys {
			tx.Set([]byte(key), []byte(key))
		}
	})
	return db
}

// TestRangesWhateverIsKnown reads ranges in batches of few pairs, over own
// writes and after other reads: those never change what a range holds.
func TestRangesWhateverIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		model := map[string]string{}
		db, err := OpenMemory()
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		defer tx.Cancel()
		for range rapid.IntRange(0, 12).Draw(t, "stored") {
			key, value := drawKey(t, "key"), strings.Repeat("v", rapid.IntRange(0, 100).Draw(t, "length"))
			model[key] = value
		}
		if err := db.Transact(t.Context(), func(tx kv.Transaction) error {
			for key, value := range model {
				tx.Set([]byte(key), []byte(value))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				drawWrite(t, model)(tx)
			case 1:
				key := drawKey(t, "get")
				if got, err := tx.Get([]byte(key)).Get(t.Context()); err != nil || string(got) != model[key] {
					t.Fatalf("Get(%q) = %q, %v; want %q", key, got, err, model[key])
				}
			default:
				checkRange(t, tx, model)
			}
		}
	})
}

// checkRange compares a drawn range with the model.
func checkRange(t *rapid.T, tx kv.ReadTransaction, model map[string]string) {
	begin, end := drawKey(t, "begin"), drawKey(t, "end")
	o := kv.RangeOptions{
		Mode:    rapid.SampledFrom([]kv.StreamingMode{kv.ModeSmall, kv.ModeMedium, kv.ModeWantAll}).Draw(t, "mode"),
		Reverse: rapid.Bool().Draw(t, "reverse"),
		Limit:   rapid.IntRange(0, 4).Draw(t, "limit"),
	}
	r := kv.KeyRange{Begin: []byte(begin), End: []byte(end)}
	got, err := readPairs(tx, r, o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(pairsOf(model, r, o.Reverse, o.Limit), got); diff != "" {
		t.Fatalf("range %q to %q %+v mismatch (-want +got):\n%s", begin, end, o, diff)
	}
}

// startBatch starts a batch that is held back.
func startBatch(_ kv.BatchRequest, f kv.Future[kv.Batch]) kv.Future[kv.Batch] {
	f.Ready()
	return f
}

// TestLateReadsConflict begins reads, and writes over their keys in the same
// transaction while the disk holds them up: what they have read from the database
// conflicts all the same.
func TestLateReadsConflict(t *testing.T) {
	from, to := coldKey(490), coldKey(520)
	everything := kv.KeyRange{Begin: from, End: to}
	reads := map[string]func(tx kv.Transaction) func() error{
		"get": func(tx kv.Transaction) func() error {
			f := tx.Get(coldKey(500))
			f.Ready() // or it is held back
			return func() error { _, err := f.Get(bounded(t)); return err }
		},
		"key": func(tx kv.Transaction) func() error {
			f := tx.GetKey(kv.KeySelector{Key: from, Offset: 30})
			f.Ready()
			return func() error { _, err := f.Get(bounded(t)); return err }
		},
		"range": func(tx kv.Transaction) func() error {
			r := tx.GetRange(everything.Selectors(), kv.RangeOptions{Mode: kv.ModeWantAll}).Wrap(startBatch)
			return func() error { _, err := r.Slice(bounded(t)); return err }
		},
	}
	writes := map[string]func(tx kv.Transaction){
		"set":   func(tx kv.Transaction) { tx.Set(coldKey(500), []byte("own")) },
		"clear": func(tx kv.Transaction) { tx.ClearRange(everything) },
	}
	for read, start := range reads {
		for write, do := range writes {
			t.Run(read+", "+write, func(t *testing.T) {
				db, disk := openCold(t)
				disk.block(true)
				tx := begin(t, db)
				await := start(tx)
				disk.await(t, 1)
				do(tx)
				transact(t, db, func(tx kv.Transaction) { tx.Set(coldKey(500), []byte("others")) })
				disk.block(false)
				if err := await(); err != nil {
					t.Fatal(err)
				}
				wantCode(t, "the commit", tx.Commit(bounded(t)), kv.CodeNotCommitted)
			})
		}
	}
}

// stampTemplate is the operand of a SetVersionstampedKey of "s", a versionstamp
// and suffix.
func stampTemplate(suffix string) []byte {
	return slices.Concat([]byte("s"), make([]byte, kv.VersionstampSize), []byte(suffix), []byte{1, 0, 0, 0})
}

// stampAt is such a key with a versionstamp.
func stampAt(stamp []byte, suffix string) []byte {
	return slices.Concat([]byte("s"), stamp, []byte(suffix))
}

// TestConflictRangeOfStampFollowsReadVersion: the write conflict range of a
// versionstamped key begins at the read version once that is known. What a clear
// covered below it was sent early, and is not told any more.
func TestConflictRangeOfStampFollowsReadVersion(t *testing.T) {
	tx, err := memoryWith(t).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Cancel()
	tx.ClearRange(kv.KeyRange{Begin: []byte("a"), End: []byte("z")})
	tx.Atomic(kv.SetVersionstampedKey, stampTemplate("x"), nil)
	version, err := tx.GetReadVersion().Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Repeat([]byte{0xff}, kv.VersionstampSize)
	want := []kv.KeyRange{
		{Begin: []byte("a"), End: stampAt(make([]byte, kv.VersionstampSize), "x")},
		{Begin: stampAt(mutation.Versionstamp(version, 0), "x"), End: []byte("z")},
	}
	checkWriteConflicts(t, tx, want)

	// a retry that is not its transaction's first attempt keeps the range
	if err := tx.OnError(t.Context(), kv.NewError(kv.CodeNotCommitted, "")); err != nil {
		t.Fatal(err)
	}
	tx.Atomic(kv.SetVersionstampedKey, stampTemplate("y"), nil)
	if version, err = tx.GetReadVersion().Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkWriteConflicts(t, tx, []kv.KeyRange{{
		Begin: stampAt(binary.BigEndian.AppendUint64(nil, uint64(version)), "\x00\x00y"), End: stampAt(all, "y\x00"),
	}})
}

func checkWriteConflicts(t *testing.T, tx kv.Transaction, want []kv.KeyRange) {
	t.Helper()
	_, got, err := tx.ConflictRanges(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("write conflict ranges mismatch (-want +got):\n%s", diff)
	}
}
