// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/testdata/blobs"
)

// A content is written as a stream, attached to a record by the write of the record, and removed with it.
func ExampleBlobs() {
	ctx := context.Background()
	db, err := persistable.Open(ctx, mustMemory())
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	pages := blobs.PageStoreOf(db, "alice")
	contents := persistable.BlobsOf(pages)

	w := contents.New(ctx)
	_, _ = io.WriteString(w, "Down the ") // an error is that of Close or Commit, too
	_ = w.Close()
	w, err = contents.Resume(ctx, w.ID()) // perhaps in another process
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("stored:", w.Size())
	_, _ = io.Copy(w, strings.NewReader("Rabbit-Hole"))
	scan, err := w.Commit()
	if err != nil {
		log.Fatal(err)
	}
	page := &blobs.Page{ID: 1, Book: "alice", Scan: scan}
	fmt.Println("attached:", pages.Save(ctx, page))

	text, err := io.ReadAll(contents.Open(ctx, page.Scan))
	fmt.Printf("%s, %d bytes, %v\n", text, page.Scan.Size, err)
	fmt.Println("to another page:", pages.Save(ctx, &blobs.Page{ID: 2, Book: "alice", Scan: scan}) != nil)

	fmt.Println("deleted:", pages.Delete(ctx, page.ID))
	_, err = contents.Open(ctx, page.Scan).Read(make([]byte, 1))
	fmt.Println(err != nil)
	// Output:
	// stored: 9
	// attached: <nil>
	// Down the Rabbit-Hole, 20 bytes, <nil>
	// to another page: true
	// deleted: <nil>
	// true
}
