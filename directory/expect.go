// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"fmt"

	"github.com/kazahana-db/kazahana/kv"
)

// Partition is the layer of a partition: a directory whose subdirectories have
// their metadata and their prefixes inside its own prefix. Removing it is one
// range clear, however many directories it holds; its directories cannot be
// moved out.
const Partition = "partition"

// Expect says which layer an element of a path has: an existing directory must have
// it ([*LayerError] otherwise), a new one gets it. Without an Expect an existing
// directory may have any layer, and a new one gets none.
type Expect struct {
	element int // lastElement or an index
	layer   string
}

const lastElement = -1

// As expects the layer of the directory itself, the path's last element. The
// empty layer is a layer too: directories created without one.
func As(layer string) Expect { return Expect{lastElement, layer} }

// ElementAs expects the layer of the path's element with that index, counted
// from 0 in the path given to the call. So this opens or creates the orders
// of a tenant that has a partition of its own:
//
//	directory.Root().CreateOrOpen(ctx, db, []string{"tenants", id, "orders"}, directory.ElementAs(1, directory.Partition))
func ElementAs(index int, layer string) Expect { return Expect{index, layer} }

// expectations are what is expected of a path, with indices into it.
type expectations []Expect

// of returns the layer expected of an element, if any. The last word counts.
func (x expectations) of(index int) (layer string, expected bool) {
	for i := len(x) - 1; i >= 0; i-- {
		if x[i].element == index {
			return x[i].layer, true
		}
	}
	return "", false
}

// expectationsOf resolves what was said of a path with n elements, of which
// the first shift were not in the path given to the call.
func expectationsOf(expects []Expect, n, shift int) (expectations, error) {
	if len(expects) == 0 {
		return nil, nil
	}
	resolved := make(expectations, len(expects))
	for i, e := range expects {
		at := e.element + shift
		if e.element == lastElement {
			at = n - 1
		}
		if at < shift && e.element != lastElement || at >= n {
			return nil, fmt.Errorf("%w: a layer is expected of element %d, but the path has %d", ErrPath, e.element, n-shift)
		}
		if len(e.layer) > kv.MaxValueSize {
			return nil, fmt.Errorf("%w: a layer of %d bytes; at most %d are possible", ErrPath, len(e.layer), kv.MaxValueSize)
		}
		resolved[i] = Expect{at, e.layer}
	}
	return resolved, nil
}
