// SPDX-License-Identifier: Apache-2.0

package tuple_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kazahana-db/kazahana/tuple"
)

func ExampleTuple_Pack() {
	key, err := tuple.Tuple{"R", "User", 42}.Pack()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n", key)

	_, err = tuple.Tuple{"R", tuple.Tuple{struct{}{}}}.Pack()
	fmt.Println(err)
	// Output:
	// 025200025573657200152a
	// tuple: cannot pack element 1.0 (struct {}): not an element type; convert it to a basic type, UUID, Versionstamp or Tuple
}

func ExampleUnpack() {
	t, err := tuple.Unpack([]byte("\x02R\x00\x02User\x00\x15\x2a"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(t)

	_, err = tuple.Unpack([]byte("\x02R\x00\xfe"))
	fmt.Println(err)
	fmt.Println(errors.Is(err, tuple.ErrMalformed))
	// Output:
	// ("R", "User", 42)
	// tuple: element at offset 3 (type code 0xfe): no element begins with this byte
	// true
}

// The keys of all tuples that begin with ("R", "User") lie in one range.
func ExampleTuple_Range() {
	begin, end, err := tuple.Tuple{"R", "User"}.Range()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n%x\n", begin, end)
	// Output:
	// 02520002557365720000
	// 025200025573657200ff
}

// Keys sort as their values do, whatever the sizes of the integers.
func ExampleCompare() {
	keys := [][]byte{
		tuple.Tuple{1000}.MustPack(),
		tuple.Tuple{2}.MustPack(),
		tuple.Tuple{-70_000}.MustPack(),
		tuple.Tuple{nil}.MustPack(),
		tuple.Tuple{2, "then"}.MustPack(),
	}
	slices.SortFunc(keys, slices.Compare)
	for _, key := range keys {
		fmt.Println(tuple.Describe(key))
	}
	fmt.Println(tuple.Compare(tuple.Tuple{-70_000}, tuple.Tuple{uint8(2)}))
	// Output:
	// (nil)
	// (-70000)
	// (2)
	// (2, "then")
	// (1000)
	// -1
}

// Hot code packs into a buffer of its own and reads back by type.
func ExampleAppendString() {
	buffer := make([]byte, 0, 64)
	buffer = tuple.AppendString(buffer, "Order")
	buffer = tuple.AppendInt(buffer, -7)

	name, rest, err := tuple.ReadString(buffer)
	if err != nil {
		fmt.Println(err)
		return
	}
	number, _, err := tuple.ReadInt(rest)
	fmt.Println(name, number, err)
	// Output: Order -7 <nil>
}

// One key can be read element by element, skipping those of no interest.
func ExampleSkip() {
	key := tuple.Tuple{"I", []byte("value"), 42}.MustPack()
	for range 2 {
		var err error
		if key, err = tuple.Skip(key); err != nil {
			fmt.Println(err)
			return
		}
	}
	id, _, err := tuple.ReadInt(key)
	fmt.Println(id, err)
	// Output: 42 <nil>
}

func ExampleSubspace() {
	users := tuple.NewSubspace([]byte{0x15, 0x01}).Sub("R", "User")
	key, err := users.Pack(tuple.Tuple{42})
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := users.Unpack(key)
	fmt.Println(t, err)

	_, err = users.Unpack([]byte("elsewhere"))
	fmt.Println(errors.Is(err, tuple.ErrNotInSubspace))
	// Output:
	// (42) <nil>
	// true
}

// The operand of an atomic SetVersionstampedKey: the database overwrites the
// ten bytes at the offset that the last four bytes say.
func ExampleTuple_PackVersionstamped() {
	operand, err := tuple.Tuple{"log", tuple.Incomplete(0)}.PackVersionstamped(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n", operand)
	// Output: 026c6f670033ffffffffffffffffffff000006000000
}
