// SPDX-License-Identifier: Apache-2.0

// Package emitter writes the generated files of a model: the Go code of stores, codecs
// and schemas, and the .proto file. The output depends on the model alone.
package emitter
