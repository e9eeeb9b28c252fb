// SPDX-License-Identifier: Apache-2.0

package commitlog

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kazahana-db/kazahana/kv/embedded/internal/mutation"
)

func appendChanges(b []byte, changes []mutation.Mutation) []byte {
	for i := range changes {
		b = AppendMutation(b, &changes[i])
	}
	return b
}

// FuzzDecodeChanges decodes anything; what decodes comes out again the same.
func FuzzDecodeChanges(f *testing.F) {
	f.Add(appendChanges(nil, []mutation.Mutation{
		{Op: mutation.OpSet, Key: []byte("key"), Value: []byte("value")},
		{Op: mutation.OpSet, Key: []byte{}, Value: []byte{}},
		{Op: mutation.OpSet, Key: []byte("cleared")},
		{Op: mutation.OpClearRange, Key: []byte("a"), Value: []byte("b")},
	}))
	f.Add([]byte{kindSet, 200, 1})
	f.Add([]byte{9})
	f.Fuzz(func(t *testing.T, data []byte) {
		decode := func(data []byte) (changes []mutation.Mutation, err error) {
			err = decodeChanges(data, func(m mutation.Mutation) { changes = append(changes, m) })
			return changes, err
		}
		changes, err := decode(data)
		if err != nil {
			if !errors.Is(err, errPayload) {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		again, err := decode(appendChanges(nil, changes))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(changes, again, cmp.AllowUnexported(mutation.Mutation{})); diff != "" {
			t.Errorf("decoded again (-want +got):\n%s", diff)
		}
	})
}
