// Package abi moves values in and out of linear memory, as the component model's canonical ABI lays them out.
//
// A pointer there has 32 bits, and Go's have 64 on WebAssembly: what is written there keeps nothing alive. So what the host was
// given, or has asked for, is kept by hand until it was read.
package abi

import (
	"math"
	"runtime/debug"
	"sync"
	"unsafe"
)

// collectFrom is from how many bytes on garbage is collected. An instance lives for one call, and the host limits a call to 64
// MiB by default: most calls end before anything is worth being collected.
const collectFrom = 24 << 20

func init() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(collectFrom)
}

var (
	// taken is what the host has asked for and what it may still read.
	taken []unsafe.Pointer
	// calls lets one goroutine at a time ask the host.
	calls sync.Mutex
)

// Keep makes room for so many numbers of 64 bits, and keeps it until the next Leave.
func Keep(words int) unsafe.Pointer {
	room := unsafe.Pointer(unsafe.SliceData(make([]uint64, max(words, 1))))
	taken = append(taken, room)
	return room
}

// Result makes room for the answer of an exported function. It is kept until the instance ends.
func Result(words int) unsafe.Pointer { return Keep(words) }

// Enter begins a call of the host.
func Enter() { calls.Lock() }

// Leave ends a call of the host: what was kept for it is kept no longer.
func Leave() {
	clear(taken)
	taken = taken[:0]
	calls.Unlock()
}

// realloc makes room for what the host writes. It never makes old room larger: nothing that this package passes asks for that.
//
//go:wasmexport cabi_realloc
func realloc(old unsafe.Pointer, oldSize, align, size uint32) unsafe.Pointer {
	if oldSize != 0 || align > 8 {
		panic("the host asks for memory in a way that no part of the contract needs")
	}
	return Keep((int(size) + 7) / 8)
}

func pointer(p unsafe.Pointer) unsafe.Pointer { return unsafe.Add(nil, *(*uint32)(p)) }

func length(p unsafe.Pointer) int { return int(*(*uint32)(unsafe.Add(p, 4))) }

func span(p, to unsafe.Pointer, length int) {
	if length > math.MaxInt32 {
		panic("a text or a list is longer than memory")
	}
	*(*uint32)(p) = uint32(uintptr(to))
	*(*uint32)(unsafe.Add(p, 4)) = uint32(length)
}

// Read reads a number.
func Read[T ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~bool](p unsafe.Pointer) T { return *(*T)(p) }

// Write writes a number.
func Write[T ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~bool](p unsafe.Pointer, it T) { *(*T)(p) = it }

// ReadString reads a text, without copying it: the text keeps alive what it stands in.
func ReadString(p unsafe.Pointer) string { return unsafe.String((*byte)(pointer(p)), length(p)) }

// WriteString writes a text.
func WriteString(p unsafe.Pointer, it string) {
	text := unsafe.StringData(it)
	taken = append(taken, unsafe.Pointer(text))
	span(p, unsafe.Pointer(text), len(it))
}

// ReadBytes reads bytes, without copying them.
func ReadBytes(p unsafe.Pointer) []byte { return unsafe.Slice((*byte)(pointer(p)), length(p)) }

// WriteBytes writes bytes.
func WriteBytes(p unsafe.Pointer, it []byte) {
	WriteString(p, unsafe.String(unsafe.SliceData(it), len(it)))
}

// ReadList reads a list whose items have this size.
func ReadList[T any](p unsafe.Pointer, size int, read func(unsafe.Pointer) T) []T {
	from, list := pointer(p), make([]T, length(p))
	for i := range list {
		list[i] = read(unsafe.Add(from, i*size))
	}
	return list
}

// WriteList writes a list whose items have this size.
func WriteList[T any](p unsafe.Pointer, size int, list []T, write func(unsafe.Pointer, T)) {
	to := Keep((len(list)*size + 7) / 8)
	for i, it := range list {
		write(unsafe.Add(to, i*size), it)
	}
	span(p, to, len(list))
}

// ReadOption reads what may be absent, and stands so many bytes after the mark that says so.
func ReadOption[T any](p unsafe.Pointer, payload int, read func(unsafe.Pointer) T) *T {
	if Read[uint8](p) == 0 {
		return nil
	}
	it := read(unsafe.Add(p, payload))
	return &it
}

// WriteOption writes what may be absent.
func WriteOption[T any](p unsafe.Pointer, payload int, it *T, write func(unsafe.Pointer, T)) {
	if it != nil {
		Write(p, uint8(1))
		write(unsafe.Add(p, payload), *it)
	}
}

// WriteResult writes an answer, or why there is none.
func WriteResult[T any](p unsafe.Pointer, payload int, it T, err error, write func(unsafe.Pointer, T), refuse func(unsafe.Pointer, error)) {
	if err != nil {
		Write(p, uint8(1))
		refuse(unsafe.Add(p, payload), err)
		return
	}
	write(unsafe.Add(p, payload), it)
}

// ReadPair reads a name and its value.
func ReadPair(p unsafe.Pointer) [2]string {
	return [2]string{ReadString(p), ReadString(unsafe.Add(p, 8))}
}

// WritePair writes a name and its value.
func WritePair(p unsafe.Pointer, it [2]string) {
	WriteString(p, it[0])
	WriteString(unsafe.Add(p, 8), it[1])
}
