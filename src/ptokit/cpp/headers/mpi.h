// Ranks of a host program, as far as tests of kernels use them: each is a process (ptokit/host.cpp).
#pragma once
typedef int MPI_Comm;
typedef int MPI_Datatype;  // with the bytes of an element in the second byte, as those of MPICH
#define MPI_COMM_WORLD ((MPI_Comm)0x44000000)
#define MPI_CHAR ((MPI_Datatype)0x4c000101)
#define MPI_INT ((MPI_Datatype)0x4c000405)
#define MPI_FLOAT ((MPI_Datatype)0x4c00040a)
#define MPI_SUCCESS 0

extern "C" {
int MPI_Init(int* argc, char*** argv);
int MPI_Finalize();
int MPI_Comm_rank(MPI_Comm, int* rank);
int MPI_Comm_size(MPI_Comm, int* size);
int MPI_Barrier(MPI_Comm);
int MPI_Bcast(void* data, int elements, MPI_Datatype, int root, MPI_Comm);
int MPI_Allgather(const void* from, int elements, MPI_Datatype, void* to, int received, MPI_Datatype, MPI_Comm);
}
