// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"context"
	"fmt"
	"strconv"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/tuple"
)

// entry is an item on the stack and the number of the instruction that pushed
// it. An item is an element of tuple or a pending result.
type entry struct {
	item   any
	number int
}

// pendingItem waits for a result when the machine pops it.
type pendingItem func(ctx context.Context) (any, error)

// absent stands for a value that is not there, and for results that only
// signal that something is done.
var absent = []byte("RESULT_NOT_PRESENT")

func pendingBytes(f kv.Future[[]byte]) pendingItem {
	return func(ctx context.Context) (any, error) {
		value, err := f.Get(ctx)
		return orAbsent(value), err
	}
}

func pendingSignal(f kv.Future[struct{}]) pendingItem {
	return func(ctx context.Context) (any, error) {
		_, err := f.Get(ctx)
		return absent, err
	}
}

func orAbsent(value []byte) []byte {
	if value == nil {
		return absent
	}
	return value
}

// errorItem is what an error of the engine becomes on the stack.
func errorItem(code kv.Code) []byte {
	return tuple.Tuple{[]byte("ERROR"), []byte(strconv.Itoa(int(code)))}.MustPack()
}

// stack grows at its end.
type stack []entry

func (s *stack) push(e entry) { *s = append(*s, e) }

// pop removes the topmost entry and waits for it if it is pending. An error
// with FoundationDB's code becomes an item; any other is returned.
func (s *stack) pop(ctx context.Context) (entry, error) {
	top, err := s.at(0)
	if err != nil {
		return entry{}, err
	}
	e := *top
	*s = (*s)[:len(*s)-1]
	wait, ok := e.item.(pendingItem)
	if !ok {
		return e, nil
	}
	e.item, err = wait(ctx)
	if code := kv.CodeOf(err); code != 0 {
		e.item, err = errorItem(code), nil
	}
	return e, err
}

// at returns the entry at a depth, 0 being the topmost.
func (s *stack) at(depth int64) (*entry, error) {
	if depth < 0 || depth >= int64(len(*s)) {
		return nil, fmt.Errorf("depth %d of a stack of %d items", depth, len(*s))
	}
	return &(*s)[len(*s)-1-int(depth)], nil
}
