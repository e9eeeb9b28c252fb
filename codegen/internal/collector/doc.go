// SPDX-License-Identifier: Apache-2.0

// Package collector makes the model of a loaded package: it reads the markers,
// walks the fields of structs, decides how each Go type is stored, resolves the
// fields of indexes and directories, and checks that they agree.
//
// It reports every fault that it finds in the source. The model that it returns is
// complete except for the field numbers.
package collector
