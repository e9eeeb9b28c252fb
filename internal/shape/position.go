// SPDX-License-Identifier: Apache-2.0

package shape

import "fmt"

// Position is a line of a file.
type Position struct {
	Path string
	Line int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d", p.Path, p.Line) }
