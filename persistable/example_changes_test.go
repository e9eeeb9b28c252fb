// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
	"github.com/kazahana-db/kazahana/persistable"
)

// A consumer counts changes in its own transaction: each exactly once.
func ExampleFeed_Consumer() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	notes := NoteStoreOf(db)
	fmt.Println(notes.Save(ctx, &Note{ID: 1, Text: "a"}), notes.Save(ctx, &Note{ID: 2, Text: "b"}), notes.Delete(ctx, 1))
	n, err := notes.Feed().Consumer("counter").Next(ctx, func(tx persistable.Tx, changes []persistable.Change[*Note, int64]) error {
		for _, c := range changes {
			fmt.Println(c.ID, c.Deleted)
			tx.KV().Atomic(kv.Add, []byte("changes"), kv.Int64(1))
		}
		return nil
	})
	fmt.Println(n, err)
	// Output:
	// <nil> <nil> <nil>
	// 2 false
	// 1 true
	// 2 <nil>
}

// Changes yields the last change of each record, in the order of the commits.
func ExampleFeed_Changes() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	notes := NoteStoreOf(db)
	fmt.Println(notes.Save(ctx, &Note{ID: 1, Text: "a"}), notes.Save(ctx, &Note{ID: 2, Text: "b"}), notes.Save(ctx, &Note{ID: 1, Text: "c"}))
	var seen persistable.Version
	for c, err := range notes.Feed().Changes(ctx, seen) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(c.ID, c.Record.Text)
		seen = c.Version
	}
	// Output:
	// <nil> <nil> <nil>
	// 2 b
	// 1 c
}

// A version travels through a form, or an HTTP ETag, and back.
func ExampleFeed_SaveIfVersion() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	notes := NoteStoreOf(db)
	fmt.Println(notes.Save(ctx, &Note{ID: 1, Text: "a"}))
	note, err := notes.Get(ctx, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	etag := note.Version.String()
	fmt.Println(notes.Save(ctx, &Note{ID: 1, Text: "of another request"}))

	var version persistable.Version
	if err := version.UnmarshalText([]byte(etag)); err != nil {
		fmt.Println(err)
	}
	err = notes.SaveIfVersion(ctx, version, &Note{ID: 1, Text: "b"})
	fmt.Println(errors.Is(err, persistable.ErrChanged))
	// Output:
	// <nil>
	// <nil>
	// true
}
