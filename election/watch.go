// SPDX-License-Identifier: Apache-2.0

package election

import "github.com/kazahana-db/kazahana/kv"

// neverWatch is a watch that never fires.
func neverWatch() kv.Future[struct{}] { return kv.NewPromise[struct{}]().Future() }
