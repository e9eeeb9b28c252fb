// SPDX-License-Identifier: Apache-2.0

// Package layoutflag is the flags --epoch and --bits, which say where the parts
// of IDs are.
package layoutflag
