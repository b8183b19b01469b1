"""Many files of documents linked shard by shard: a file in, a file out, and a manifest of what is done.

A run can be stopped at any moment and taken up again: nothing is lost, nothing comes twice, and what comes out is, to
the byte, what an uninterrupted run writes. Batches and caches never cross a shard, and a worker process holds no more
than a batch of it.

``manifest`` keeps the book, ``shard`` does one file, ``worker`` is a process that does one after the other, ``run``
gives them out. ``inputs`` and ``outputs`` have a module a format.
"""
