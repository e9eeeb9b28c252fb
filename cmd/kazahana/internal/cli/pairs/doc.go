// SPDX-License-Identifier: Apache-2.0

// Package pairs has the commands kazahana kv, which show and clear keys with their
// values, whatever wrote them.
package pairs
