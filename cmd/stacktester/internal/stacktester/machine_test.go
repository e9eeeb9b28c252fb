// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"context"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// instructions are a program in the making.
type instructions []tuple.Tuple

func (i *instructions) push(items ...any) *instructions {
	for n := len(items) - 1; n >= 0; n-- { // the first is the topmost
		*i = append(*i, tuple.Tuple{"PUSH", items[n]})
	}
	return i
}

func (i *instructions) do(names ...string) *instructions {
	for _, name := range names {
		*i = append(*i, tuple.Tuple{name})
	}
	return i
}

// logged stores a program, which then logs its stack, runs it and returns the
// stack, the topmost item first.
func logged(t *testing.T, db kv.Database, i *instructions) tuple.Tuple {
	t.Helper()
	i.push([]byte("log")).do("LOG_STACK")
	store(t, db, "p", *i)
	if err := Run(t.Context(), db, []byte("p")); err != nil {
		t.Fatal(err)
	}
	var items tuple.Tuple
	for _, pair := range readAll(t, db, kv.PrefixRange([]byte("log"))) {
		item, err := tuple.Unpack(pair.Value)
		if err != nil || len(item) != 1 {
			t.Fatalf("logged %x: %v", pair.Value, err)
		}
		items = append(item, items...)
	}
	return items
}

func store(t *testing.T, db kv.Database, prefix string, program instructions) {
	t.Helper()
	var pairs []kv.KeyValue
	for n, instruction := range program {
		var value []byte
		for _, element := range instruction {
			if stamp, ok := element.(tuple.Versionstamp); ok { // incomplete ones, too
				value = tuple.AppendVersionstamp(value, stamp)
				continue
			}
			value = append(value, packed(element)...)
		}
		pairs = append(pairs, kv.KeyValue{Key: packed([]byte(prefix), n), Value: value})
	}
	if err := setAll(context.Background(), db, pairs); err != nil {
		t.Fatal(err)
	}
}

func packed(elements ...any) []byte { return tuple.Tuple(elements).MustPack() }

// engineError is what an error of the engine looks like on the stack.
func engineError(code string) []byte { return packed([]byte("ERROR"), []byte(code)) }

var (
	one, two, three = []byte("1"), []byte("2"), []byte("3")
	done            = []byte("RESULT_NOT_PRESENT")
)

// someKeys sets k1 to k4 in the database.
func someKeys(i *instructions) *instructions {
	for _, key := range []string{"k1", "k2", "k3", "k4"} {
		i.push([]byte(key), []byte("v"+key[1:])).do("SET")
	}
	return i.do("COMMIT", "WAIT_FUTURE", "POP", "RESET")
}

// programs says what each instruction leaves on the stack, the topmost item
// first.
var programs = []struct {
	name    string
	program func(*instructions)
	want    tuple.Tuple
}{
	{"data", func(i *instructions) {
		i.push(one, two, int64(3)).do("DUP").push(int64(2)).do("SWAP")
	}, tuple.Tuple{two, one, one, int64(3)}},
	{"subtraction", func(i *instructions) {
		i.push(int64(5), int64(7)).do("SUB").push(new(big.Int).Lsh(big.NewInt(1), 100), int64(1)).do("SUB")
	}, tuple.Tuple{new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 100), big.NewInt(1)), int64(-2)}},
	{"concatenation", func(i *instructions) {
		i.push(one, two).do("CONCAT").push("a", "b").do("CONCAT")
	}, tuple.Tuple{"ab", []byte("12")}},
	{"pop and empty", func(i *instructions) { i.push(one, two, three).do("POP", "POP") }, tuple.Tuple{three}},
	{"empty", func(i *instructions) { i.push(one, two).do("EMPTY_STACK").push(three) }, tuple.Tuple{three}},
	{"get", func(i *instructions) {
		someKeys(i).push([]byte("k1")).do("GET").push([]byte("k2")).do("GET_SNAPSHOT").push([]byte("k3")).do("GET_DATABASE").push([]byte("k")).do("GET")
	}, tuple.Tuple{done, []byte("v3"), []byte("v2"), []byte("v1")}},
	{"get key", func(i *instructions) {
		someKeys(i).push([]byte("k2"), int64(0), int64(2), []byte("k")).do("GET_KEY")
		i.push([]byte("k1"), int64(0), int64(-1), []byte("k1")).do("GET_KEY_SNAPSHOT")
		i.push([]byte("k4"), int64(1), int64(1), []byte("k1")).do("GET_KEY_DATABASE")
	}, tuple.Tuple{[]byte("k2"), []byte("k1"), []byte("k3")}},
	{"get range", func(i *instructions) {
		someKeys(i).push([]byte("k2"), []byte("k4"), int64(0), int64(0), int64(-1)).do("GET_RANGE")
		i.push([]byte("k2"), []byte("k4"), int64(1), int64(1), int64(0)).do("GET_RANGE_SNAPSHOT")
		i.push([]byte("k"), int64(1), int64(0), int64(4)).do("GET_RANGE_STARTS_WITH_DATABASE")
		i.push([]byte("k1"), int64(1), int64(1), []byte("k1"), int64(0), int64(4), int64(0), int64(0), int64(-2), []byte("k3")).do("GET_RANGE_SELECTOR")
		i.push([]byte("k2"), []byte("k4"), int64(0), int64(0), int64(0)).do("GET_RANGE")
	}, tuple.Tuple{
		engineError("2210"),
		packed([]byte("k3"), []byte("v3")),
		packed([]byte("k1"), []byte("v1")),
		packed([]byte("k3"), []byte("v3")),
		packed([]byte("k2"), []byte("v2"), []byte("k3"), []byte("v3")),
	}},
	{"clear", func(i *instructions) {
		someKeys(i).push([]byte("k1")).do("CLEAR_DATABASE").push([]byte("k2"), []byte("k4")).do("CLEAR_RANGE").push([]byte("k")).do("GET")
		i.push([]byte("k"), int64(0), int64(0), int64(-1)).do("GET_RANGE_STARTS_WITH").push([]byte("k")).do("CLEAR_RANGE_STARTS_WITH")
		i.push([]byte("k"), int64(0), int64(0), int64(-1)).do("GET_RANGE_STARTS_WITH")
	}, tuple.Tuple{[]byte{}, packed([]byte("k4"), []byte("v4")), done, done}},
	{"atomic operations", func(i *instructions) {
		i.push("ADD", []byte("n"), []byte{250, 0}).do("ATOMIC_OP").push("ADD", []byte("n"), []byte{10, 0}).do("ATOMIC_OP").push([]byte("n")).do("GET")
		i.push("BYTE_MAX", []byte("m"), two).do("ATOMIC_OP_DATABASE")
	}, tuple.Tuple{done, []byte{4, 1}}},
	{"versionstamps", func(i *instructions) {
		i.push("SET_VERSIONSTAMPED_VALUE", []byte("s"), append([]byte("..........x"), 0, 0, 0, 0)).do("ATOMIC_OP").push([]byte("x")).do("GET_VERSIONSTAMP")
		i.do("COMMIT", "WAIT_FUTURE", "POP", "CONCAT").push([]byte("s")).do("NEW_TRANSACTION", "GET").push([]byte{}).do("CONCAT")
		i.push(int64(1)).do("SWAP") // both are the same
	}, nil},
	{"conflicts", func(i *instructions) {
		i.push([]byte("a"), []byte("b")).do("READ_CONFLICT_RANGE").push([]byte("b"), []byte("a")).do("WRITE_CONFLICT_RANGE")
		i.push([]byte("k1")).do("READ_CONFLICT_KEY").push([]byte("k2")).do("WRITE_CONFLICT_KEY").do("DISABLE_WRITE_CONFLICT", "GET_APPROXIMATE_SIZE")
	}, tuple.Tuple{[]byte("GOT_APPROXIMATE_SIZE"), []byte("SET_CONFLICT_KEY"), []byte("SET_CONFLICT_KEY"), engineError("2005"), []byte("SET_CONFLICT_RANGE")}},
	{"two transactions", func(i *instructions) {
		i.push([]byte("k")).do("GET", "POP").push([]byte("other")).do("USE_TRANSACTION").push([]byte("k"), one).do("SET", "COMMIT")
		i.push([]byte("p")).do("USE_TRANSACTION").push([]byte("j"), one).do("SET", "COMMIT")
	}, tuple.Tuple{engineError("1020"), done}},
	{"versions", func(i *instructions) {
		i.do("GET_READ_VERSION").push([]byte("k"), one).do("SET_DATABASE", "NEW_TRANSACTION", "SET_READ_VERSION").push([]byte("k")).do("GET")
		i.do("GET_READ_VERSION_SNAPSHOT", "NEW_TRANSACTION").push([]byte("k"), two).do("SET", "COMMIT", "WAIT_FUTURE", "GET_COMMITTED_VERSION")
	}, tuple.Tuple{[]byte("GOT_COMMITTED_VERSION"), done, []byte("GOT_READ_VERSION"), done, done, []byte("GOT_READ_VERSION")}},
	{"cancel", func(i *instructions) {
		i.do("CANCEL").push([]byte("k")).do("GET").push([]byte("a"), []byte("b")).do("GET_ESTIMATED_RANGE_SIZE")
		i.do("RESET").push([]byte("a"), []byte("b")).do("GET_ESTIMATED_RANGE_SIZE").push([]byte("a"), []byte("b"), int64(1)).do("GET_RANGE_SPLIT_POINTS")
	}, tuple.Tuple{[]byte("GOT_RANGE_SPLIT_POINTS"), []byte("GOT_ESTIMATED_RANGE_SIZE"), engineError("1025"), engineError("1025")}},
	{"errors", func(i *instructions) {
		i.push(int64(1020)).do("ON_ERROR").push(int64(2000)).do("ON_ERROR")
	}, tuple.Tuple{engineError("2000"), done}},
	{"unit tests", func(i *instructions) { i.push(one).do("UNIT_TESTS") }, tuple.Tuple{one}},
}

func TestInstructions(t *testing.T) {
	for _, c := range programs {
		t.Run(c.name, func(t *testing.T) {
			var i instructions
			i.do("NEW_TRANSACTION")
			c.program(&i)
			got := logged(t, openMemory(t), &i)
			want := c.want
			if want == nil { // the items are equal, whatever they are
				want = tuple.Tuple{got[0], got[0]}
			}
			if diff := cmp.Diff(want.String(), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTupleInstructions(t *testing.T) {
	stamp := tuple.Incomplete(7)
	var i instructions
	i.push(int64(2), "a", nil).do("TUPLE_PACK")
	i.push(packed(int64(1), tuple.Tuple{nil})).do("TUPLE_UNPACK")
	i.push(int64(1), int64(5)).do("TUPLE_RANGE")
	i.push(int64(3), packed("b"), packed(), packed(int64(-1))).do("TUPLE_SORT")
	i.push([]byte{0xbf, 0x80, 0, 0}).do("ENCODE_FLOAT", "DUP", "DECODE_FLOAT")
	i.push([]byte{0x7f, 0xf8, 0, 0, 0, 0, 0, 1}).do("ENCODE_DOUBLE", "DECODE_DOUBLE")
	i.push([]byte("p"), int64(1), "no stamp").do("TUPLE_PACK_WITH_VERSIONSTAMP")
	i.push([]byte("p"), int64(2), stamp, stamp).do("TUPLE_PACK_WITH_VERSIONSTAMP")
	i.push([]byte("p"), int64(1), stamp).do("TUPLE_PACK_WITH_VERSIONSTAMP")
	stamped, err := tuple.Tuple{stamp}.PackVersionstamped([]byte("p"))
	if err != nil {
		t.Fatal(err)
	}
	begin, end, err := tuple.Tuple{5}.Range()
	if err != nil {
		t.Fatal(err)
	}
	want := tuple.Tuple{
		stamped, []byte("OK"), []byte("ERROR: MULTIPLE"), []byte("ERROR: NONE"),
		[]byte{0x7f, 0xf8, 0, 0, 0, 0, 0, 1},
		[]byte{0xbf, 0x80, 0, 0},
		float32(-1), packed(int64(-1)), packed("b"), packed(), end, begin, packed(tuple.Tuple{nil}), packed(int64(1)), packed("a", nil),
	}
	if diff := cmp.Diff(want.String(), logged(t, openMemory(t), &i).String()); diff != "" {
		t.Error(diff)
	}
}

// TestThreads has a program start two others and wait for what they clear.
func TestThreads(t *testing.T) {
	db := openMemory(t)
	for _, name := range []string{"t0", "t1"} {
		var i instructions
		i.push([]byte("wait"+name), one).do("SET_DATABASE", "POP").push([]byte("done"+name), one).do("SET_DATABASE", "POP")
		i.push([]byte("wait"+name)).do("CLEAR_DATABASE", "POP")
		store(t, db, name, i)
	}
	var i instructions
	i.push([]byte("waitt0"), one).do("SET_DATABASE").push([]byte("waitt1"), one).do("SET_DATABASE", "EMPTY_STACK")
	i.push([]byte("t0")).do("START_THREAD").push([]byte("t1")).do("START_THREAD").push([]byte("wait")).do("WAIT_EMPTY")
	i.push([]byte("done"), int64(0), int64(0), int64(-1)).do("GET_RANGE_STARTS_WITH_DATABASE")
	want := tuple.Tuple{packed([]byte("donet0"), one, []byte("donet1"), one), []byte("WAITED_FOR_EMPTY")}
	if diff := cmp.Diff(want.String(), logged(t, db, &i).String()); diff != "" {
		t.Error(diff)
	}
}

// TestProgramsThatCannotBeExecuted are errors of Run that say where.
func TestProgramsThatCannotBeExecuted(t *testing.T) {
	for name, c := range map[string]struct {
		program func(*instructions)
		want    string
	}{
		"an unknown instruction": {func(i *instructions) { i.do("TENANT_LIST") }, "instruction 0: TENANT_LIST is not known"},
		"an empty stack":         {func(i *instructions) { i.push(one).do("SET") }, "instruction 1: SET: depth 0 of a stack of 0 items"},
		"another type":           {func(i *instructions) { i.push("text").do("GET") }, "instruction 1: GET: the operand text is a string"},
		"no atomic operation":    {func(i *instructions) { i.push("NO", one, one).do("ATOMIC_OP") }, `"NO" is not an atomic operation`},
		"no streaming mode": {func(i *instructions) {
			i.push(one, two, int64(0), int64(0), int64(9)).do("GET_RANGE")
		}, "9 is not a streaming mode"},
		"too many operands": {func(i *instructions) { i.push(int64(4)).do("TUPLE_PACK") }, "4 operands on a stack of 0 items"},
		"no tuple":          {func(i *instructions) { i.push([]byte{0xff}).do("TUPLE_UNPACK") }, "TUPLE_UNPACK: tuple: element at offset 0"},
		"in a thread": {func(i *instructions) {
			*i = append(instructions{{"PUSH", []byte("thread")}, {"START_THREAD"}}, *i...)
		}, `program "thread": instruction 0: POP: depth 0`},
	} {
		t.Run(name, func(t *testing.T) {
			db := openMemory(t)
			var i, thread instructions
			c.program(&i)
			store(t, db, "p", i)
			store(t, db, "thread", *thread.do("POP"))
			if err := Run(t.Context(), db, []byte("p")); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, expected was one with %q", err, c.want)
			}
		})
	}
}
