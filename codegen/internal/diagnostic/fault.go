// SPDX-License-Identifier: Apache-2.0

package diagnostic

import (
	"go/token"
)

// Fault is one fault of the source.
type Fault struct {
	At      token.Position // its file name is relative to the working directory where that is shorter
	Subject string         // "Type" or "Type.Field"; may be empty
	Message string         // what is wrong, and the remedy
}
