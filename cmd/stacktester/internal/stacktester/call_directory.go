// SPDX-License-Identifier: Apache-2.0

package stacktester

import (
	"fmt"

	"github.com/kazahana-db/kazahana/directory"
	"github.com/kazahana-db/kazahana/tuple"
)

// directory returns the verbs of the current directory.
func (c *call) directory() (verbs, error) {
	v, ok := c.dirs.list[c.dirs.index].(verbs)
	if !ok && c.fault == nil {
		c.fault = fmt.Errorf("%T has no directories", c.dirs.list[c.dirs.index])
	}
	return v, c.fault
}

// subspace returns that of the current directory.
func (c *call) subspace() (tuple.Subspace, error) {
	s, err := subspaceOf(c.dirs.list[c.dirs.index])
	if c.fault != nil {
		return s, c.fault
	}
	return s, err
}

// popPath pops a path.
func (c *call) popPath() []string {
	items := c.popItems()
	path := make([]string, len(items))
	for i, item := range items {
		name, ok := item.(string)
		if !ok && c.fault == nil {
			c.fault = fmt.Errorf("the element %v of a path is not a string", item)
		}
		path[i] = name
	}
	return path
}

// popOptionalPath pops a path if the topmost item says that there is one.
func (c *call) popOptionalPath() []string {
	if c.popInteger() == 0 {
		return nil
	}
	return c.popPath()
}

// popLayer pops a layer: empty and absent ones are not checked.
func (c *call) popLayer() []directory.Expect {
	layer := c.popOptionalBytes()
	if len(layer) == 0 {
		return nil
	}
	return []directory.Expect{directory.As(string(layer))}
}
