// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"bytes"
	"fmt"

	"github.com/kazahana-db/kazahana/cmd/kazahana/internal/cli/database"
	"github.com/kazahana-db/kazahana/directory"
)

// CheckSame returns an error unless d is the directory of the node: another process may have
// put another one at its path since the node was read. Only a directory's prefix is its own.
func (n *Node) CheckSame(d *directory.Directory) error {
	if bytes.Equal(n.Prefix, d.Reserve().Begin) {
		return nil
	}
	return fmt.Errorf("another process has put another directory at %s since it was shown: nothing was changed; repeat the command", database.QuotePath(d.Path()))
}

// CheckSubtree returns an error if one of the directories is not the node's, nor that of one
// below it, which were all read.
func (n *Node) CheckSubtree(all []*directory.Directory) error {
	shown := map[string]*Node{}
	for below := range n.All {
		shown[database.QuotePath(below.Path)] = below
	}
	for _, d := range all {
		path := database.QuotePath(d.Path())
		if shown[path] == nil {
			return fmt.Errorf("another process has made or moved the directory %s since %s was shown: nothing was changed; repeat the command", path, database.QuotePath(n.Path))
		}
		if err := shown[path].CheckSame(d); err != nil {
			return err
		}
	}
	return nil
}
