// SPDX-License-Identifier: Apache-2.0

package core

import "fmt"

// quiet is a logger of etcd/raft that formats and writes nothing, and panics where it must.
type quiet struct{}

func (quiet) Debug(...any)            {}
func (quiet) Debugf(string, ...any)   {}
func (quiet) Info(...any)             {}
func (quiet) Infof(string, ...any)    {}
func (quiet) Warning(...any)          {}
func (quiet) Warningf(string, ...any) {}
func (quiet) Error(...any)            {}
func (quiet) Errorf(string, ...any)   {}

func (quiet) Fatal(v ...any)                 { panic("raft: " + fmt.Sprint(v...)) }
func (quiet) Fatalf(format string, v ...any) { panic("raft: " + fmt.Sprintf(format, v...)) }
func (quiet) Panic(v ...any)                 { panic("raft: " + fmt.Sprint(v...)) }
func (quiet) Panicf(format string, v ...any) { panic("raft: " + fmt.Sprintf(format, v...)) }
