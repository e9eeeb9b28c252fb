// SPDX-License-Identifier: Apache-2.0

package revision_test

import (
	"context"
	"fmt"
	"time"

	"github.com/kazahana-db/kazahana/internal/idbuilder/revision"
)

// What was read under a revision is used until Current returns another one.
func ExampleWatch() {
	ctx := context.Background()
	s := &slowStore{} // any store.Store
	w, err := revision.New(s, revision.Options{Validity: 500 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()

	read, err := w.Current(ctx)
	fmt.Println(read, err)
	// … a process changes the store, and announces the change:
	fmt.Println(w.Announce(ctx))
	now, err := w.Current(ctx)
	fmt.Println(now, err, "read again:", now != read)
	// Output:
	// 0 <nil>
	// <nil>
	// 1 <nil> read again: true
}
