// Package flight keeps what a process is doing in a file that is right at every
// instant, so that it can be read after the process was killed: the spans that
// are open and the last that finished. Spans come in from the recorder as they
// start and end; what goes out is a file of one process, and, through [Read],
// what is in it.
//
// # The file
//
// The file is mapped into memory and written by plain stores, so a span costs no
// system call and no allocation, and what is stored stays when the process is
// killed, because the pages belong to the kernel. It does not stay when the
// machine goes down, unless the kernel has written it out by then.
//
// A header of one page says which process of which run this is. Behind it is a
// fixed number of slots, one a span. A slot has a sequence number that is odd
// while the slot is filled; the end of a span is one store of one word. Attributes
// that come later are appended and then counted in, again by one store. So there
// is no instant at which a span that is open cannot be read. A slot whose span has
// ended is used again once all that ended before it were; the slots that wait
// for that are the last finished spans. A quarter of the slots is never taken by
// open spans.
//
// When more spans are open than there are slots, those that started first keep
// theirs, because it is they that say where a process hangs; the others are
// counted.
//
// Once a second the process stores its clocks in the header: the last sign of
// life, from which a reader tells how long a span was open.
//
// # Faults
//
// The blocks of the file are reserved when it is made, so that a full disk is an
// error then and there. Even so a store into mapped memory can fault later: when
// somebody truncates the file, when a file system that copies on write is full,
// when a network file system goes away. Every store runs with
// debug.SetPanicOnFault: the fault is a panic that ends in this package, the
// recorder stops for good, and the application goes on. A file that is deleted or
// truncated is noticed with the next sign of life, too, and said.
//
// A store can wait while the kernel writes the page to a slow disk. A directory in
// memory, such as one below /dev/shm, has no such waits, and its files outlive the
// process as well.
package flight
