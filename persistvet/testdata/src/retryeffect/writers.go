// SPDX-License-Identifier: Apache-2.0

package retryeffect

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"os"
	"strings"
	"sync/atomic"

	"github.com/kazahana-db/kazahana/kv"
)

func writes(ctx context.Context, db kv.Database, w io.Writer, h hash.Hash, rows *bufio.Writer) (string, error) {
	var text, anew strings.Builder
	var buffer bytes.Buffer
	outer := json.NewEncoder(w)
	err := db.ReadTransact(ctx, func(tx kv.ReadTransaction) error {
		anew.Reset()
		var own bytes.Buffer
		fmt.Fprint(w, 1)                        // want "writes to the outer variable w: a retry does it again. Write after the transaction, or to a buffer"
		io.WriteString(w, "a")                  // want "writes to the outer variable w"
		json.NewEncoder(w).Encode(1)            // want "writes to the outer variable w"
		outer.Encode(1)                         // want "writes to the outer variable outer"
		text.WriteString("a")                   // want "writes to the outer variable text"
		fmt.Fprintf(&buffer, "%d", 1)           // want "writes to the outer variable buffer"
		rows.WriteByte(1)                       // want "writes to the outer variable rows"
		h.Write(nil)                            // want "writes to the outer variable h"
		inner := json.NewEncoder(w)             // it writes nothing yet
		if err := inner.Encode(1); err != nil { // want "writes to the outer variable w"
			return err
		}
		anew.WriteString("a")
		own.WriteString("a")
		fmt.Fprint(&own, 1)
		fmt.Fprint(os.Stderr, 1)
		fmt.Fprint(io.Discard, 1)
		return json.NewEncoder(&own).Encode(1)
	})
	return text.String(), err
}

func atomics(ctx context.Context, db kv.Database) error {
	var n, fresh, calls, number atomic.Int64
	var old, begun int64
	return db.Transact(ctx, func(tx kv.Transaction) error {
		fresh.Store(0)
		atomic.StoreInt64(&begun, 0)
		n.Add(1)                 // want "counts in the outer variable n"
		atomic.AddInt64(&old, 1) // want "counts in the outer variable old"
		atomic.AddInt64(&begun, 1)
		fresh.Add(1)
		calls.Add(1)
		tx.Set([]byte{byte(number.Add(1))}, nil) // each attempt has a number of its own
		var own atomic.Int64
		own.Add(1)
		return nil
	})
}
